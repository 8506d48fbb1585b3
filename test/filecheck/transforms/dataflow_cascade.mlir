// RUN: meshloom-opt %s -p 'dataflow-cascade{first=a last=y stripes=2}' --check-semantics --split-input-file | filecheck %s
// RUN: not meshloom-opt %s -p 'dataflow-cascade{first=a last=y stripes=9}' --split-input-file 2>&1 | filecheck %s --check-prefix NINE
// RUN: not meshloom-opt %s -p 'dataflow-cascade{first=a last=y axis=1 stripes=2}' --split-input-file 2>&1 | filecheck %s --check-prefix CHANNELS
// RUN: not meshloom-opt %s -p 'dataflow-cascade{last=y}' --split-input-file 2>&1 | filecheck %s --check-prefix SOME

// NINE: error: {{.*}}result 'y' of shape [1, 3, 8, 8] cannot be cut into 9 stripes along dimension 2
// CHANNELS: error: {{.*}}the chain to %y cannot be cut into stripes along dimension 1
// SOME: error: {{.*}}give all of first=NAME, last=NAME and stripes=N

// Two convolutions of 3 x 3: rows 0 to 3 of the result need rows 0 to 4 of the value between, and 0 to 5 of the input; the
// padding stays at the outer edges.
// CHECK-LABEL: @two_convolutions
// CHECK:       %[[X:.*]] = dataflow.slice %x starts [0, 0, 0, 0] sizes [1, 3, 6, 8]
// CHECK-NEXT:  %[[A:.*]] = dataflow.conv %[[X]], %w {{.*}} pad [1, 1] to [0, 1] {{.*}} -> tensor<1x3x5x8xf32>
// CHECK-NEXT:  %[[B:.*]] = dataflow.relu %[[A]] : (tensor<1x3x5x8xf32>)
// CHECK-NEXT:  %[[Y:.*]] = dataflow.conv %[[B]], %w {{.*}} pad [1, 1] to [0, 1] {{.*}} -> tensor<1x3x4x8xf32>
// CHECK-NEXT:  %[[X1:.*]] = dataflow.slice %x starts [0, 0, 2, 0] sizes [1, 3, 6, 8]
// CHECK-NEXT:  %[[A1:.*]] = dataflow.conv %[[X1]], %w {{.*}} pad [0, 1] to [1, 1] {{.*}} -> tensor<1x3x5x8xf32>
// CHECK-NEXT:  %[[B1:.*]] = dataflow.relu %[[A1]]
// CHECK-NEXT:  %[[Y1:.*]] = dataflow.conv %[[B1]], %w {{.*}} pad [0, 1] to [1, 1]
// CHECK-NEXT:  dataflow.concat %[[Y]], %[[Y1]] axis 2
func.func @two_convolutions(%x: tensor<1x3x8x8xf32>, %w: tensor<3x3x3x3xf32>) -> tensor<1x3x8x8xf32> {
  %a = dataflow.conv %x, %w strides [1, 1] dilations [1, 1] pad [1, 1] to [1, 1] groups 1 : (tensor<1x3x8x8xf32>, tensor<3x3x3x3xf32>) -> tensor<1x3x8x8xf32>
  %b = dataflow.relu %a : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  %y = dataflow.conv %b, %w strides [1, 1] dilations [1, 1] pad [1, 1] to [1, 1] groups 1 : (tensor<1x3x8x8xf32>, tensor<3x3x3x3xf32>) -> tensor<1x3x8x8xf32>
  func.return %y : tensor<1x3x8x8xf32>
}

// -----

// A branch: what both ways need of the value before it is joined; the way around reads a part of what is there.
// CHECK-LABEL: @branch
// CHECK:       %[[A:.*]] = dataflow.exp %{{.*}} : (tensor<1x2x5x4xf32>)
// CHECK-NEXT:  %[[W:.*]] = dataflow.reduce_window max %[[A]] {{.*}} -> tensor<1x2x4x4xf32>
// CHECK-NEXT:  %[[S:.*]] = dataflow.slice %[[A]] starts [0, 0, 0, 0] sizes [1, 2, 4, 4]
// CHECK-NEXT:  dataflow.add %[[W]], %[[S]]
func.func @branch(%x: tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32> {
  %a = dataflow.exp %x : (tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32>
  %m = dataflow.reduce_window max %a window [1, 1, 3, 1] strides [1, 1, 1, 1] dilations [1, 1, 1, 1] pad [0, 0, 1, 0] to [0, 0, 1, 0] : (tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32>
  %y = dataflow.add %m, %a : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> tensor<1x2x8x4xf32>
  func.return %y : tensor<1x2x8x4xf32>
}
