// RUN: meshloom-opt %s -p 'dataflow-fuse-loops{chip=tiny}' | filecheck %s
// RUN: meshloom-opt %s -p 'dataflow-fuse-loops{chip=tiny}' --check-semantics 2>&1 | filecheck %s --check-prefix SAME
// RUN: meshloom-opt %s -p 'dataflow-fuse-loops{chip=tiny},dataflow-fuse-loops' | filecheck %s --check-prefix AGAIN

// SAME: check-semantics: dataflow-fuse-loops kept all results

// The two loops of 9 steps are one, in the place of the second: %n needs the first alone, and stands behind it. The one of
// 8 steps stays, and so does the last, which needs what the second stacks.
// CHECK:      dataflow.loop 8 steps
// CHECK:      dataflow.loop 9 steps carry(%h_1 = %h0 : tensor<2xf32>, %h_2 = %h0 : tensor<2xf32>) scan(%row_1 = %x axis 0 : tensor<9x2xf32>, %row_2 = %x axis 0 backwards : tensor<9x2xf32>) stack(axis 0 : tensor<9x2xf32>) {
// CHECK-NEXT:   dataflow.add %row_1, %h_1
// CHECK-NEXT:   dataflow.tanh
// CHECK-NEXT:   dataflow.sub %row_2, %h_2
// CHECK-NEXT:   dataflow.sigmoid
// CHECK-NEXT:   dataflow.yield
// CHECK:      dataflow.neg
// CHECK:      dataflow.loop 9 steps carry(
// AGAIN-COUNT-2: dataflow.loop 9 steps
// AGAIN-NOT: dataflow.loop 9 steps
func.func @main(%x: tensor<9x2xf32>, %e: tensor<8x2xf32>, %h0: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %a = dataflow.loop 9 steps carry(%h = %h0 : tensor<2xf32>) scan(%row = %x axis 0 : tensor<9x2xf32>) {
    %s = dataflow.add %row, %h : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %t = dataflow.tanh %s : (tensor<2xf32>) -> tensor<2xf32>
    dataflow.yield %t : tensor<2xf32>
  }
  %n = dataflow.neg %a : (tensor<2xf32>) -> tensor<2xf32>
  %d = dataflow.loop 8 steps carry(%h = %h0 : tensor<2xf32>) scan(%row = %e axis 0 : tensor<8x2xf32>) {
    %s = dataflow.add %row, %h : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %t = dataflow.tanh %s : (tensor<2xf32>) -> tensor<2xf32>
    dataflow.yield %t : tensor<2xf32>
  }
  %b, %all = dataflow.loop 9 steps carry(%h = %h0 : tensor<2xf32>) scan(%row = %x axis 0 backwards : tensor<9x2xf32>) stack(axis 0 : tensor<9x2xf32>) {
    %s = dataflow.sub %row, %h : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %t = dataflow.sigmoid %s : (tensor<2xf32>) -> tensor<2xf32>
    dataflow.yield %t, %t : tensor<2xf32>, tensor<2xf32>
  }
  %c = dataflow.loop 9 steps carry(%h = %b : tensor<2xf32>) scan(%row = %all axis 0 : tensor<9x2xf32>) {
    %s = dataflow.mul %row, %h : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %t = dataflow.tanh %s : (tensor<2xf32>) -> tensor<2xf32>
    dataflow.yield %t : tensor<2xf32>
  }
  func.return %n, %d, %b, %c : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}
