// Constants of equal elements become immediates of the tasks whose elementwise operations read them; others stay in
// memory: those of different elements, those that do not fit into an instruction, and operands of other operations.

// RUN: meshloom-opt %s -p dataflow-to-manycore | filecheck %s --check-prefix TASK
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory,memory-to-coreasm | filecheck %s --check-prefix CODE
// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p dataflow-to-manycore -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory,memory-to-coreasm -t 'emulate{inputs=iota}' | filecheck %s
// Canonicalisation leaves them: x * 1 stays, as the tiling belongs to the root.
// RUN: meshloom-opt %s -p dataflow-to-manycore,canonicalize | filecheck %s --check-prefix TASK

// TASK:      %[[STAYS:.+]] = dataflow.constant dense<5000000000> : tensor<i64>
// TASK:      %[[DIFFERENT:.+]] = dataflow.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
// TASK:      manycore.task @{{.+}}(%{{.+}} = %x : tensor<2x4xf32>, %{{.+}} = %[[DIFFERENT]] : tensor<4xf32>)
// TASK-NEXT:   %[[C:.+]] = dataflow.constant dense<2.500000e+00> : tensor<f32>
// TASK-NEXT:   %[[HALF:.+]] = dataflow.constant dense<5.000000e-01> : tensor<2x4xf32>
// TASK-NEXT:   %[[M:.+]] = dataflow.mul %{{.+}}, %[[C]]
// TASK-NEXT:   %[[A:.+]] = dataflow.add %[[M]], %{{.+}} :
// TASK-NEXT:   dataflow.maximum %[[HALF]], %[[A]]
// TASK:      dataflow.constant dense<1.000000e+00> : tensor<f32>
// TASK-NEXT: dataflow.mul
// TASK:      dataflow.quantize %{{.+}}, %{{.+}} zero 1

// CODE:     mul f32 {{.*}}, 2.5{{ }}
// CODE:     max f32 {{.*}}, 0.5, {{.*}}
// CODE:     mul bf16 {{.*}}, 1.5{{ }}
// CODE:     add i8 {{.*}}, 127{{ }}
// CODE:     quantize f32 -> i8 {{.*}}, 2.0, 1.0{{ }}

// Floats count -3 to 3 and begin again, integers 0 to 3. 2.5 x + [1, 2, 3, 4], and at least 0.5.
// CHECK:      f32: {{.*}} = {{\[\[}} 0.5, 0.5, 0.5, 4. ],
// CHECK-NEXT: [ 3.5, 7. , 10.5, 0.5]]
// CHECK-NEXT: one: {{.*}} = {{\[\[}}-3., -2., -1., 0.],
// CHECK-NEXT: [ 1., 2., 3., -3.]]
// CHECK-NEXT: bf16: {{.*}} = {{\[\[}}-4.5, -3. , -1.5, 0. ],
// CHECK-NEXT: [ 1.5, 3. , 4.5, -4.5]]
// 127 + 1 begins again at -128.
// CHECK-NEXT: i8: {{.*}} = {{\[\[}} 127, -128, -127, -126],
// CHECK-NEXT: [ 127, -128, -127, -126]]
// CHECK-NEXT: i64: {{.*}} = {{\[\[}}5000000000, 5000000001, 5000000002, 5000000003],
// CHECK-NEXT: [5000000000, 5000000001, 5000000002, 5000000003]]
// CHECK-NEXT: select: {{.*}} = {{\[\[}}0.25, 0.25, 0.25, 0.25],
// CHECK-NEXT: [8. , 8. , 8. , 0.25]]
// CHECK-NEXT: quantize: {{.*}} = {{\[\[}}-5, -3, -1, 1],
// CHECK-NEXT: [ 3, 5, 7, -5]]
// CHECK-NEXT: joined: {{.*}} = {{\[\[}}-3., -2., -1., 0.],
// CHECK-NEXT: [ 1., 2., 3., -3.],
// CHECK-NEXT: [ 1., 1., 1., 1.],
// CHECK-NEXT: [ 1., 1., 1., 1.]]
builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: tensor<2x4xf32>, %b: tensor<2x4xbf16>, %i: tensor<2x4xi8>, %l: tensor<2x4xi64>)
      -> (tensor<2x4xf32> {dataflow.name = "f32"}, tensor<2x4xf32> {dataflow.name = "one"},
          tensor<2x4xbf16> {dataflow.name = "bf16"}, tensor<2x4xi8> {dataflow.name = "i8"},
          tensor<2x4xi64> {dataflow.name = "i64"}, tensor<2x4xf32> {dataflow.name = "select"},
          tensor<2x4xi8> {dataflow.name = "quantize"}, tensor<4x4xf32> {dataflow.name = "joined"}) {
    %large = dataflow.constant dense<5000000000> : tensor<i64>
    %different = dataflow.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %c = dataflow.constant dense<2.5> : tensor<f32>
    %half = dataflow.constant dense<0.5> : tensor<2x4xf32>
    %0 = dataflow.mul %x, %c : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %1 = dataflow.add %0, %different : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    %2 = dataflow.maximum %half, %1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %one = dataflow.constant dense<1.0> : tensor<f32>
    %3 = dataflow.mul %x, %one : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %narrow = dataflow.constant dense<1.5> : tensor<1x1xbf16>
    %4 = dataflow.mul %b, %narrow : (tensor<2x4xbf16>, tensor<1x1xbf16>) -> tensor<2x4xbf16>
    %most = dataflow.constant dense<127> : tensor<i8>
    %5 = dataflow.add %i, %most : (tensor<2x4xi8>, tensor<i8>) -> tensor<2x4xi8>
    %6 = dataflow.add %l, %large : (tensor<2x4xi64>, tensor<i64>) -> tensor<2x4xi64>
    %zero = dataflow.constant dense<0.0> : tensor<f32>
    %yes = dataflow.constant dense<8.0> : tensor<f32>
    %no = dataflow.constant dense<0.25> : tensor<f32>
    %above = dataflow.compare lt %zero, %x : (tensor<f32>, tensor<2x4xf32>) -> tensor<2x4xi1>
    %7 = dataflow.select %above, %yes, %no : (tensor<2x4xi1>, tensor<f32>, tensor<f32>) -> tensor<2x4xf32>
    %scale = dataflow.constant dense<2.0> : tensor<f32>
    %8 = dataflow.quantize %x, %scale zero 1 : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xi8>
    %ones = dataflow.constant dense<1.0> : tensor<2x4xf32>
    %9 = dataflow.concat %x, %ones axis 0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    func.return %2, %3, %4, %5, %6, %7, %8, %9 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xbf16>, tensor<2x4xi8>, tensor<2x4xi64>, tensor<2x4xf32>, tensor<2x4xi8>, tensor<4x4xf32>
  }
}
