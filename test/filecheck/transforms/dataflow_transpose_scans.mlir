// RUN: meshloom-opt %s --split-input-file -p dataflow-transpose-scans | filecheck %s
// RUN: meshloom-opt %s --split-input-file -p dataflow-transpose-scans --check-semantics 2>&1 | filecheck %s --check-prefix SAME
// RUN: meshloom-opt %s --split-input-file -p dataflow-transpose-scans,dataflow-transpose-scans | filecheck %s
// RUN: meshloom-opt %s --split-input-file -p 'dataflow-transpose-scans,dataflow-unroll-loops{keep=true}' | filecheck %s --check-prefix KEPT

// SAME: check-semantics: dataflow-transpose-scans{{.*}} kept all results

// Two sequences, the batch first: the value of a step is in two places, so that cores could not execute the loop.
// CHECK-LABEL: @main
// CHECK-NEXT: [[ROWS:%.+]] = dataflow.transpose %x [1, 0, 2] : (tensor<2x8x3xf32>) -> tensor<8x2x3xf32>
// CHECK-NEXT: [[LAST:%.+]], [[ALL:%.+]] = dataflow.loop 8 steps carry({{%.+}} = %h0 : tensor<2x3xf32>) scan({{%.+}} = [[ROWS]] axis 0 backwards : tensor<8x2x3xf32>) stack(axis 0 backwards : tensor<8x2x3xf32>)
// CHECK: [[Y:%.+]] = dataflow.transpose [[ALL]] [1, 0, 2] : (tensor<8x2x3xf32>) -> tensor<2x8x3xf32>
// CHECK-NEXT: func.return [[Y]], [[LAST]]
// KEPT: dataflow.loop 8 steps
func.func @main(%x: tensor<2x8x3xf32>, %h0: tensor<2x3xf32>, %w: tensor<3x3xf32>) -> (tensor<2x8x3xf32>, tensor<2x3xf32>) {
  %last, %y = dataflow.loop 8 steps carry(%h = %h0 : tensor<2x3xf32>) scan(%row = %x axis 1 backwards : tensor<2x8x3xf32>) stack(axis 1 backwards : tensor<2x8x3xf32>) {
    %p = dataflow.matmul %h, %w : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    %s = dataflow.add %p, %row : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %next = dataflow.tanh %s : (tensor<2x3xf32>) -> tensor<2x3xf32>
    dataflow.yield %next, %next : tensor<2x3xf32>, tensor<2x3xf32>
  }
  func.return %y, %last : tensor<2x8x3xf32>, tensor<2x3xf32>
}

// -----

// The last axis moves to the front and back; the scanned value is in rows already.
// CHECK-LABEL: @main
// CHECK-NEXT: dataflow.loop 8 steps {{.*}} scan({{%.+}} = %x axis 0 : tensor<8x2x3xf32>) stack(axis 0 : tensor<8x2x3xf32>)
// CHECK: dataflow.transpose {{%.+}} [1, 2, 0] : (tensor<8x2x3xf32>) -> tensor<2x3x8xf32>
func.func @main(%x: tensor<8x2x3xf32>, %h0: tensor<2x3xf32>, %w: tensor<3x3xf32>) -> tensor<2x3x8xf32> {
  %last, %y = dataflow.loop 8 steps carry(%h = %h0 : tensor<2x3xf32>) scan(%row = %x axis 0 : tensor<8x2x3xf32>) stack(axis 2 : tensor<2x3x8xf32>) {
    %p = dataflow.matmul %h, %w : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    %s = dataflow.add %p, %row : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %next = dataflow.tanh %s : (tensor<2x3xf32>) -> tensor<2x3xf32>
    dataflow.yield %next, %next : tensor<2x3xf32>, tensor<2x3xf32>
  }
  func.return %y : tensor<2x3x8xf32>
}

// -----

// Axes of one element before that of the steps do not matter; loops of a few steps are unrolled anyway.
// CHECK-LABEL: @main
// CHECK-NOT: dataflow.transpose
func.func @main(%x: tensor<1x8x3xf32>, %z: tensor<2x4x3xf32>, %h0: tensor<1x3xf32>, %g0: tensor<2x3xf32>, %w: tensor<3x3xf32>) -> (tensor<1x8x3xf32>, tensor<2x4x3xf32>) {
  %last, %y = dataflow.loop 8 steps carry(%h = %h0 : tensor<1x3xf32>) scan(%row = %x axis 1 : tensor<1x8x3xf32>) stack(axis 1 : tensor<1x8x3xf32>) {
    %p = dataflow.matmul %h, %w : (tensor<1x3xf32>, tensor<3x3xf32>) -> tensor<1x3xf32>
    %s = dataflow.add %p, %row : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<1x3xf32>
    %next = dataflow.tanh %s : (tensor<1x3xf32>) -> tensor<1x3xf32>
    dataflow.yield %next, %next : tensor<1x3xf32>, tensor<1x3xf32>
  }
  %end, %v = dataflow.loop 4 steps carry(%h = %g0 : tensor<2x3xf32>) scan(%row = %z axis 1 : tensor<2x4x3xf32>) stack(axis 1 : tensor<2x4x3xf32>) {
    %p = dataflow.matmul %h, %w : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<2x3xf32>
    %s = dataflow.add %p, %row : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %next = dataflow.tanh %s : (tensor<2x3xf32>) -> tensor<2x3xf32>
    dataflow.yield %next, %next : tensor<2x3xf32>, tensor<2x3xf32>
  }
  func.return %y, %v : tensor<1x8x3xf32>, tensor<2x4x3xf32>
}
