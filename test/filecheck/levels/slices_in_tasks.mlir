// Slices that one operation reads join its task and are read in place: no instruction copies them.

// RUN: meshloom-opt %s -p dataflow-to-manycore | filecheck %s --check-prefix TASKS
// RUN: meshloom-opt %s -p 'dataflow-to-manycore,manycore-tile,manycore-to-memory,memory-to-coreasm' | filecheck %s --check-prefix CODE
// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory,memory-to-coreasm -t 'emulate{inputs=iota}' | filecheck %s

// The first slice is the root, whose result has the shape of all. Two operations read %d: it is a task of its own.
// TASKS:      manycore.task @d([[X:%.+]] = %y : tensor<2x6xf32>)
// TASKS-NEXT:   dataflow.slice [[X]] starts [0, 5] sizes [2, 2] steps [1, -2]
// TASKS-NEXT:   manycore.yield
// TASKS:      manycore.task @a({{.*}}) -> tensor<2x2xf32>
// TASKS-NEXT:   [[A:%.+]] = dataflow.slice {{.*}} starts [0, 0]
// TASKS-NEXT:   [[B:%.+]] = dataflow.slice {{.*}} starts [0, 1]
// TASKS-NEXT:   [[S:%.+]] = dataflow.mul [[A]], [[B]]
// TASKS-NEXT:   [[C:%.+]] = dataflow.slice {{.*}} starts [0, 2]
// TASKS-NEXT:   [[T:%.+]] = dataflow.add [[S]], [[C]]
// TASKS-NEXT:   manycore.yield [[T]]

// The only copy is that of %d.
// CODE-LABEL: coreasm.program @launch0.0
// CODE:       add f32 {{.*}} from "{{.+}}"
// CODE-NEXT:  {{mov|copy}} f32 {{.*}} from "d"
// CODE-NEXT:  mul f32 {{.*}} from "a"
// CODE-NEXT:  add f32 {{.*}} from "a"

// y = [[0..5], [6..11]]. Row 0: 0 * 1 + 2 = 2, 2 * 3 + 4 = 10; [5, 3] + [2, 10] and [5, 3] - [2, 10].
// Row 1: 6 * 7 + 8 = 50, 8 * 9 + 10 = 82; [11, 9] + [50, 82] and [11, 9] - [50, 82].
// CHECK:      result0: {{.*}} = {{\[\[}} 7., 13.],
// CHECK-NEXT:  [61., 91.]]
// CHECK-NEXT: result1: {{.*}} = {{\[\[}}  3.,  -7.],
// CHECK-NEXT:  [-39., -73.]]
builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: tensor<2x6xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
    %zero = dataflow.constant dense<0.0> : tensor<2x6xf32>
    %k = dataflow.constant dense<[[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0, 11.0]]> : tensor<2x6xf32>
    %0 = dataflow.mul %x, %zero : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
    %y = dataflow.add %0, %k : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
    %d = dataflow.slice %y starts [0, 5] sizes [2, 2] steps [1, -2] : (tensor<2x6xf32>) -> tensor<2x2xf32>
    %a = dataflow.slice %y starts [0, 0] sizes [2, 2] steps [1, 2] : (tensor<2x6xf32>) -> tensor<2x2xf32>
    %b = dataflow.slice %y starts [0, 1] sizes [2, 2] steps [1, 2] : (tensor<2x6xf32>) -> tensor<2x2xf32>
    %c = dataflow.slice %y starts [0, 2] sizes [2, 2] steps [1, 2] : (tensor<2x6xf32>) -> tensor<2x2xf32>
    %ab = dataflow.mul %a, %b : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %abc = dataflow.add %ab, %c : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %s = dataflow.add %d, %abc : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %t = dataflow.sub %d, %abc : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    func.return %s, %t : tensor<2x2xf32>, tensor<2x2xf32>
  }
}
