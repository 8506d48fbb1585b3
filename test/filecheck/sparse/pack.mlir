// RUN: meshloom-opt %s -p 'sparse-pack{chip=edge}' --split-input-file | filecheck %s
// RUN: meshloom-opt %s -p 'sparse-pack{chip=edge}' --split-input-file --check-semantics 2>&1 >/dev/null | filecheck %s --check-prefix=SAME

// SAME-NOT: skipped
// SAME: sparse-pack kept all results

// Weights are packed once for all that take the same panels; neurons behind a relu are often zero.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %w = dataflow.constant dense<{{.*}}> : tensor<{{.*}}xui8>
// CHECK-NEXT:    %y = sparse.panel_matmul %x, %w by <direct, outputs = 2 by 2, inputs = 4 by 4,
// CHECK-NEXT:    %r = dataflow.relu %x
// CHECK-NEXT:    %z = sparse.panel_matmul %r, %w nonzero [1.000000e+00] by <direct, outputs = 2 by 2, inputs = 4 by 4,
// CHECK-NEXT:    func.return %y, %z
func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %w = dataflow.constant dense<[[1.0, 0.0], [0.0, 3.0], [0.0, -6.0], [7.0, 0.0]]> : tensor<4x2xf32>
  %0 = sparse.encode %w : tensor<4x2xf32> -> tensor<4x2xf32, #sparse.index<direct, axis = 1>>
  %y = sparse.matmul %x, %0 : (tensor<2x4xf32>, tensor<4x2xf32, #sparse.index<direct, axis = 1>>) -> tensor<2x2xf32>
  %r = dataflow.relu %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %z = sparse.matmul %r, %0 : (tensor<2x4xf32>, tensor<4x2xf32, #sparse.index<direct, axis = 1>>) -> tensor<2x2xf32>
  func.return %y, %z : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// Neurons that are encoded lie decoded in memory.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %0 = sparse.encode %x nonzero [5.000000e-01]
// CHECK-NEXT:    %w = dataflow.constant dense<{{.*}}> : tensor<{{.*}}xui8>
// CHECK-NEXT:    %1 = sparse.decode %0
// CHECK-NEXT:    %y = sparse.panel_conv %1, %w nonzero [5.000000e-01] kernel [2]
// CHECK-NEXT:    func.return %y
func.func @main(%x: tensor<1x2x6xf32>) -> tensor<1x2x5xf32> {
  %0 = sparse.encode %x nonzero [0.5] : tensor<1x2x6xf32> -> tensor<1x2x6xf32, #sparse.index<direct>>
  %w = dataflow.constant dense<[[[1.0, 0.0], [0.0, 2.0]], [[0.0, 3.0], [4.0, 0.0]]]> : tensor<2x2x2xf32>
  %1 = sparse.encode %w : tensor<2x2x2xf32> -> tensor<2x2x2xf32, #sparse.index<direct>>
  %y = sparse.conv %0, %1 strides [1] dilations [1] pad [0] to [0] groups 1
    : (tensor<1x2x6xf32, #sparse.index<direct>>, tensor<2x2x2xf32, #sparse.index<direct>>) -> tensor<1x2x5xf32>
  func.return %y : tensor<1x2x5xf32>
}

// -----

// Weights that no panels hold, here of a depthwise convolution: they are decoded where neurons are encoded, else they
// stay as they are.
// CHECK-LABEL: func.func @main
// CHECK:         %[[X:.*]] = sparse.decode %0
// CHECK-NEXT:    %[[W:.*]] = sparse.decode %1
// CHECK-NEXT:    %y = dataflow.conv %[[X]], %[[W]] strides [1] dilations [1] pad [0] to [0] groups 2 nonzero [5.000000e-01]
// CHECK-NEXT:    %z = sparse.conv %x, %1
// CHECK-NEXT:    func.return %y, %z
func.func @main(%x: tensor<1x2x6xf32>) -> (tensor<1x2x5xf32>, tensor<1x2x5xf32>) {
  %0 = sparse.encode %x nonzero [0.5] : tensor<1x2x6xf32> -> tensor<1x2x6xf32, #sparse.index<direct>>
  %w = dataflow.constant dense<[[[1.0, 0.0]], [[0.0, 3.0]]]> : tensor<2x1x2xf32>
  %1 = sparse.encode %w : tensor<2x1x2xf32> -> tensor<2x1x2xf32, #sparse.index<direct>>
  %y = sparse.conv %0, %1 strides [1] dilations [1] pad [0] to [0] groups 2
    : (tensor<1x2x6xf32, #sparse.index<direct>>, tensor<2x1x2xf32, #sparse.index<direct>>) -> tensor<1x2x5xf32>
  %z = sparse.conv %x, %1 strides [1] dilations [1] pad [0] to [0] groups 2
    : (tensor<1x2x6xf32>, tensor<2x1x2xf32, #sparse.index<direct>>) -> tensor<1x2x5xf32>
  func.return %y, %z : tensor<1x2x5xf32>, tensor<1x2x5xf32>
}
