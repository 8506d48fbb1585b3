// RUN: meshloom-opt %s -p 'dataflow-split-batch{parts=2}' --check-semantics --split-input-file | filecheck %s
// RUN: not meshloom-opt %s -p 'dataflow-split-batch{parts=1}' --split-input-file 2>&1 | filecheck %s --check-prefix=ONE

// ONE: error: {{.*}}parts = 1 should be at least 2

// A copy of all operators for each two frames, one after the other; frames may lie in another dimension in between.
// CHECK-LABEL: @copies
// CHECK:       %[[X:.*]] = dataflow.slice %x starts [0, 0, 0] sizes [2, 3, 4]
// CHECK-NEXT:  %[[T:.*]] = dataflow.transpose %[[X]] [1, 0, 2] : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
// CHECK-NEXT:  %[[E:.*]] = dataflow.exp %[[T]] : (tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
// CHECK-NEXT:  %[[B:.*]] = dataflow.transpose %[[E]] [1, 0, 2]
// CHECK-NEXT:  %[[R:.*]] = dataflow.reshape %[[B]] : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
// CHECK-NEXT:  %[[M:.*]] = dataflow.matmul %[[R]], %w : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
// CHECK-NEXT:  %[[Y:.*]] = dataflow.reshape %[[M]] : (tensor<6x5xf32>) -> tensor<2x15xf32>
// CHECK-NEXT:  dataflow.slice %x starts [2, 0, 0] sizes [2, 3, 4]
// CHECK:       %[[Z:.*]] = dataflow.reshape %{{.*}} : (tensor<6x5xf32>) -> tensor<2x15xf32>
// CHECK-NEXT:  dataflow.concat %[[Y]], %[[Z]] axis 0
// CHECK-NEXT:  return
func.func @copies(%x: tensor<4x3x4xf32>, %w: tensor<4x5xf32>) -> tensor<4x15xf32> {
  %t = dataflow.transpose %x [1, 0, 2] : (tensor<4x3x4xf32>) -> tensor<3x4x4xf32>
  %e = dataflow.exp %t : (tensor<3x4x4xf32>) -> tensor<3x4x4xf32>
  %b = dataflow.transpose %e [1, 0, 2] : (tensor<3x4x4xf32>) -> tensor<4x3x4xf32>
  %r = dataflow.reshape %b : (tensor<4x3x4xf32>) -> tensor<12x4xf32>
  %m = dataflow.matmul %r, %w : (tensor<12x4xf32>, tensor<4x5xf32>) -> tensor<12x5xf32>
  %y = dataflow.reshape %m : (tensor<12x5xf32>) -> tensor<4x15xf32>
  func.return %y : tensor<4x15xf32>
}

// -----

// The mean is over all frames: what comes before it stays whole, what comes after is cut; five frames are two and three.
// CHECK-LABEL: @mean_of_all
// CHECK:       dataflow.exp %x : (tensor<5x4xf32>)
// CHECK-NEXT:  dataflow.reduce sum %{{.*}} axes [0] : (tensor<5x4xf32>) -> tensor<1x4xf32>
// CHECK:       dataflow.sub %{{.*}}, %{{.*}} : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
// CHECK:       dataflow.sub %{{.*}}, %{{.*}} : (tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:  dataflow.concat
func.func @mean_of_all(%x: tensor<5x4xf32>) -> tensor<5x4xf32> {
  %e = dataflow.exp %x : (tensor<5x4xf32>) -> tensor<5x4xf32>
  %s = dataflow.reduce sum %e axes [0] : (tensor<5x4xf32>) -> tensor<1x4xf32>
  %y = dataflow.sub %e, %s : (tensor<5x4xf32>, tensor<1x4xf32>) -> tensor<5x4xf32>
  func.return %y : tensor<5x4xf32>
}

// -----

// One frame: nothing to cut.
// CHECK-LABEL: @one_frame
// CHECK-NEXT:  dataflow.exp
// CHECK-NEXT:  return
func.func @one_frame(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %y = dataflow.exp %x : (tensor<1x4xf32>) -> tensor<1x4xf32>
  func.return %y : tensor<1x4xf32>
}
