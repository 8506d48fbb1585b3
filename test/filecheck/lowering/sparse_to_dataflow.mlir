// RUN: meshloom-opt %s -p sparse-to-dataflow --split-input-file | filecheck %s
// RUN: meshloom-opt %s -p sparse-to-dataflow --split-input-file --check-semantics 2>&1 >/dev/null | filecheck %s --check-prefix=SAME

// SAME-NOT: skipped
// SAME: sparse-to-dataflow kept all results

// Known weights: those up to the threshold are zero.
// CHECK-LABEL: func.func @main
// CHECK: %[[W:.*]] = dataflow.constant dense<{{\[}}[1.000000e+00, 0.000000e+00], [0.000000e+00, 3.000000e+00]]> : tensor<2x2xf32>
// CHECK: %{{.*}} = dataflow.matmul %x, %[[W]] transpose_a : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %w = dataflow.constant dense<[[1.0, 0.25], [-0.5, 3.0]]> : tensor<2x2xf32>
  %0 = sparse.encode %w : tensor<2x2xf32> -> tensor<2x2xf32, #sparse.index<direct, axis = 1, threshold = 0.5>>
  %1 = sparse.matmul %x, %0 transpose_a : (tensor<2x2xf32>, tensor<2x2xf32, #sparse.index<direct, axis = 1, threshold = 0.5>>) -> tensor<2x2xf32>
  func.return %1 : tensor<2x2xf32>
}

// -----

// Neurons: without a threshold they stay, with one what lies between its two signs becomes zero; whole numbers up to 2.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[ZERO:.*]] = dataflow.constant dense<0> : tensor<i8>
// CHECK-NEXT: %[[HIGH:.*]] = dataflow.constant dense<2> : tensor<i8>
// CHECK-NEXT: %[[BELOW:.*]] = dataflow.compare le %x, %[[HIGH]]
// CHECK-NEXT: %[[LOW:.*]] = dataflow.constant dense<-2> : tensor<i8>
// CHECK-NEXT: %[[ABOVE:.*]] = dataflow.compare ge %x, %[[LOW]]
// CHECK-NEXT: %[[MOST:.*]] = dataflow.select %[[ABOVE]], %[[ZERO]], %x
// CHECK-NEXT: %[[ALL:.*]] = dataflow.select %[[BELOW]], %[[MOST]], %x
// CHECK-NEXT: func.return %x, %[[ALL]]
func.func @main(%x: tensor<1x6xi8>) -> (tensor<1x6xi8>, tensor<1x6xi8>) {
  %0 = sparse.encode %x : tensor<1x6xi8> -> tensor<1x6xi8, #sparse.index<direct>>
  %1 = sparse.decode %0 : tensor<1x6xi8, #sparse.index<direct>> -> tensor<1x6xi8>
  %2 = sparse.encode %x : tensor<1x6xi8> -> tensor<1x6xi8, #sparse.index<direct, threshold = 2.5>>
  %3 = sparse.decode %2 : tensor<1x6xi8, #sparse.index<direct, threshold = 2.5>> -> tensor<1x6xi8>
  func.return %1, %3 : tensor<1x6xi8>, tensor<1x6xi8>
}

// -----

// What connects is a mask.
// CHECK-LABEL: func.func @main
// CHECK:      %[[A:.*]] = dataflow.compare ne %x, %{{.*}} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi1>
// CHECK:      %[[B:.*]] = dataflow.compare ne %w, %{{.*}} : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xi1>
// CHECK-NEXT: %[[NO:.*]] = dataflow.constant dense<false> : tensor<i1>
// CHECK-NEXT: %[[BOTH:.*]] = dataflow.select %[[A]], %[[B]], %[[NO]]
// CHECK-NEXT: %[[ZERO:.*]] = dataflow.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[KEPT:.*]] = dataflow.select %[[BOTH]], %x, %[[ZERO]]
// CHECK-NEXT: func.return %[[KEPT]]
func.func @main(%x: tensor<1x4xf32>, %w: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = sparse.encode %x : tensor<1x4xf32> -> tensor<1x4xf32, #sparse.index<direct>>
  %1 = sparse.encode %w : tensor<1x4xf32> -> tensor<1x4xf32, #sparse.index<direct>>
  %2 = sparse.connections %0 : tensor<1x4xf32, #sparse.index<direct>> -> tensor<1x4xi1, #sparse.index<direct>>
  %3 = sparse.connections %1 : tensor<1x4xf32, #sparse.index<direct>> -> tensor<1x4xi1, #sparse.index<direct>>
  %4 = sparse.combine %2, %3 : tensor<1x4xi1, #sparse.index<direct>>, tensor<1x4xi1, #sparse.index<direct>> -> tensor<1x4xi1, #sparse.index<direct>>
  %5 = sparse.compact %x by %4 : tensor<1x4xf32>, tensor<1x4xi1, #sparse.index<direct>> -> tensor<1x4xf32, #sparse.index<direct>>
  %6 = sparse.decode %5 : tensor<1x4xf32, #sparse.index<direct>> -> tensor<1x4xf32>
  func.return %6 : tensor<1x4xf32>
}

// -----

// A convolution reads dense operands.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[Y:.*]] = dataflow.conv %x, %w strides [2] dilations [1] pad [1] to [0] groups 1 : (tensor<1x2x6xi8>, tensor<4x2x3xi8>) -> tensor<1x4x3xi32>
// CHECK-NEXT: func.return %[[Y]]
func.func @main(%x: tensor<1x2x6xi8>, %w: tensor<4x2x3xi8>) -> tensor<1x4x3xi32> {
  %0 = sparse.encode %w : tensor<4x2x3xi8> -> tensor<4x2x3xi8, #sparse.index<stride, bits = 3>>
  %1 = sparse.conv %x, %0 strides [2] dilations [1] pad [1] to [0] groups 1 : (tensor<1x2x6xi8>, tensor<4x2x3xi8, #sparse.index<stride, bits = 3>>) -> tensor<1x4x3xi32>
  func.return %1 : tensor<1x4x3xi32>
}

// -----

// Of a group of three with more than one small one, fewer than two large ones are left.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[GROUPS:.*]] = dataflow.reshape %x : (tensor<2x3xf32>) -> tensor<2x3xf32>
// CHECK:      %[[LARGE:.*]] = dataflow.compare ne
// CHECK-NEXT: %[[ONES:.*]] = dataflow.cast %[[LARGE]]
// CHECK-NEXT: %[[COUNT:.*]] = dataflow.reduce sum %[[ONES]] axes [1] : (tensor<2x3xf32>) -> tensor<2x1xf32>
// CHECK-NEXT: %[[LEAST:.*]] = dataflow.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[ENOUGH:.*]] = dataflow.compare ge %[[COUNT]], %[[LEAST]]
// CHECK-NEXT: %[[ZERO:.*]] = dataflow.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT: %[[KEPT:.*]] = dataflow.select %[[ENOUGH]], %[[GROUPS]], %[[ZERO]]
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = sparse.prune_groups %x groups 2 threshold 0.5 limit 1 : tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
