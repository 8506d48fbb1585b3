// RUN: meshloom-opt %s -p dataflow-unroll-loops | filecheck %s
// RUN: meshloom-opt %s -p dataflow-unroll-loops --check-semantics 2>&1 | filecheck %s --check-prefix SAME

// SAME: check-semantics: dataflow-unroll-loops kept all results

// CHECK-LABEL: @main
func.func @main(%x: tensor<4x2xf32>, %a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4x2xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %last = dataflow.slice %x starts [0, 1] sizes [4, 1] steps [1, 1] : (tensor<4x2xf32>) -> tensor<4x1xf32>
  // CHECK-NEXT: %row = dataflow.reshape %last : (tensor<4x1xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %next = dataflow.add %row, %a
  // CHECK-NEXT: %last_1 = dataflow.slice %x starts [0, 0] sizes [4, 1] steps [1, 1] : (tensor<4x2xf32>) -> tensor<4x1xf32>
  // CHECK-NEXT: %row_1 = dataflow.reshape %last_1 : (tensor<4x1xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %next_1 = dataflow.add %row_1, %next
  // CHECK-NEXT: %last_2 = dataflow.reshape %next_1 : (tensor<4xf32>) -> tensor<4x1xf32>
  // CHECK-NEXT: %last_3 = dataflow.reshape %next : (tensor<4xf32>) -> tensor<4x1xf32>
  // CHECK-NEXT: %all = dataflow.concat %last_2, %last_3 axis 1 : (tensor<4x1xf32>, tensor<4x1xf32>) -> tensor<4x2xf32>
  %last, %all = dataflow.loop 2 steps carry(%h = %a : tensor<4xf32>) scan(%row = %x axis 1 backwards : tensor<4x2xf32>) stack(axis 1 backwards : tensor<4x2xf32>) {
    %next = dataflow.add %row, %h : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dataflow.yield %next, %next : tensor<4xf32>, tensor<4xf32>
  }
  // The numbers of steps are known; loops in loops are unrolled too.
  // CHECK: %n = dataflow.constant dense<0.000000e+00> : tensor<f32>
  // CHECK-NEXT: dataflow.add %a, %n
  // CHECK-COUNT-2: dataflow.add {{.*}}, %n
  // CHECK-NEXT: %n_1 = dataflow.constant dense<1.000000e+00> : tensor<f32>
  // CHECK-COUNT-3: dataflow.add {{.*}}, %n_1
  %numbers = dataflow.iota axis 0 : tensor<2xf32>
  %0 = dataflow.loop 2 steps carry(%h = %a : tensor<4xf32>) scan(%n = %numbers axis 0 : tensor<2xf32>) {
    %1 = dataflow.loop 3 steps carry(%z = %h : tensor<4xf32>) {
      %2 = dataflow.add %z, %n : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      dataflow.yield %2 : tensor<4xf32>
    }
    dataflow.yield %1 : tensor<4xf32>
  }
  // CHECK-NOT: dataflow.loop
  func.return %last, %all, %0 : tensor<4xf32>, tensor<4x2xf32>, tensor<4xf32>
}
