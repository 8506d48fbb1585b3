// RUN: meshloom-opt %s -p dataflow-fold-affine --split-input-file | filecheck %s
// RUN: meshloom-opt %s -p dataflow-fold-affine --split-input-file --check-semantics 2>&1 >/dev/null | filecheck %s --check-prefix=SAME

// SAME-NOT: skipped
// SAME: dataflow-fold-affine kept all results

// Batch normalisation behind a convolution and its bias: the scale goes into the weights.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %0 = dataflow.constant dense<{{\[\[\[\[}}2.000000e+00]], {{\[\[}}4.000000e+00]]], {{\[\[\[}}9.000000e+00]], {{\[\[}}1.200000e+01]]]]> : tensor<2x2x1x1xf32>
// CHECK-NEXT: %y = dataflow.conv %x, %0 strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 1 : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT: %1 = dataflow.constant dense<{{\[\[\[\[}}2.100000e+01]], {{\[\[}}6.100000e+01]]]]> : tensor<1x2x1x1xf32>
// CHECK-NEXT: %normal = dataflow.add %y, %1 : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x4x4xf32>
// CHECK-NEXT: dataflow.relu %normal
func.func @main(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = dataflow.constant dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]]]> : tensor<2x2x1x1xf32>
  %bias = dataflow.constant dense<[[[[10.0]], [[20.0]]]]> : tensor<1x2x1x1xf32>
  %scale = dataflow.constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %one = dataflow.constant dense<1.0> : tensor<f32>
  %y = dataflow.conv %x, %w strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 1 : (tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %biased = dataflow.add %y, %bias : (tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %scaled = dataflow.mul %scale, %biased : (tensor<2x1x1xf32>, tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %normal = dataflow.add %scaled, %one : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %r = dataflow.relu %normal : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  func.return %r : tensor<1x2x4x4xf32>
}

// -----

// All kinds of steps become one multiplication and one addition: (5 - x) / 2 * 4 - 1 == x * -2 + 9
// CHECK-LABEL: func.func @main
// CHECK-NEXT: dataflow.constant dense<-2.000000e+00> : tensor<f32>
// CHECK-NEXT: %1 = dataflow.mul %x, %{{.*}} : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK-NEXT: dataflow.constant dense<9.000000e+00> : tensor<f32>
// CHECK-NEXT: %last = dataflow.add %1, %{{.*}} : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
// CHECK-NEXT: func.return %last
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %c1 = dataflow.constant dense<1.0> : tensor<f32>
  %c2 = dataflow.constant dense<2.0> : tensor<f32>
  %c4 = dataflow.constant dense<4.0> : tensor<f32>
  %c5 = dataflow.constant dense<5.0> : tensor<f32>
  %a = dataflow.sub %c5, %x : (tensor<f32>, tensor<3xf32>) -> tensor<3xf32>
  %d = dataflow.div %a, %c2 : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %m = dataflow.mul %d, %c4 : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %last = dataflow.sub %m, %c1 : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  func.return %last : tensor<3xf32>
}

// -----

// The channels of a matrix product are its columns; weights may be transposed.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: dataflow.constant dense<{{\[\[}}1.000000e+01, 2.000000e+01], [3.000000e+02, 4.000000e+02], [5.000000e+03, 6.000000e+03]]> : tensor<3x2xf32>
// CHECK-NEXT: %s = dataflow.matmul %x, %{{.*}} transpose_b
// CHECK-NEXT: func.return %s
func.func @main(%x: tensor<4x2xf32>) -> tensor<4x3xf32> {
  %w = dataflow.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %c = dataflow.constant dense<[10.0, 100.0, 1000.0]> : tensor<3xf32>
  %y = dataflow.matmul %x, %w transpose_b : (tensor<4x2xf32>, tensor<3x2xf32>) -> tensor<4x3xf32>
  %s = dataflow.mul %y, %c : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  func.return %s : tensor<4x3xf32>
}

// -----

// A scale of rows does not go into weights that are columns; a value with another use stays.
// CHECK-LABEL: func.func @main
// CHECK: %y = dataflow.matmul %x, %w
// CHECK: %s = dataflow.mul %y, %c
// CHECK: %z = dataflow.matmul %x, %w
// CHECK: %t = dataflow.mul %z, %u
func.func @main(%x: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %w = dataflow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %c = dataflow.constant dense<[[10.0], [100.0]]> : tensor<2x1xf32>
  %u = dataflow.constant dense<7.0> : tensor<f32>
  %y = dataflow.matmul %x, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %s = dataflow.mul %y, %c : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %z = dataflow.matmul %x, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %t = dataflow.mul %z, %u : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  func.return %s, %z, %t : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// Not across other functions, not where a table would grow, not where adding and taking away means rounding, not for
// integers, not for numbers out of range.
// CHECK-LABEL: func.func @main
// CHECK: %0 = dataflow.mul %x, %k
// CHECK: %1 = dataflow.relu %0
// CHECK: %2 = dataflow.mul %1, %row
// CHECK: %3 = dataflow.mul %2, %column
// CHECK: %4 = dataflow.add %3, %magic
// CHECK: %5 = dataflow.sub %4, %magic
// CHECK: %6 = dataflow.mul %5, %large
// CHECK: %7 = dataflow.mul %6, %large
// CHECK: %8 = dataflow.mul %i, %j
// CHECK: %9 = dataflow.mul %8, %j
func.func @main(%x: tensor<2x2xf32>, %i: tensor<2xi32>) -> (tensor<2x2xf32>, tensor<2xi32>) {
  %k = dataflow.constant dense<2.0> : tensor<f32>
  %j = dataflow.constant dense<2> : tensor<i32>
  %row = dataflow.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %column = dataflow.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  %magic = dataflow.constant dense<12582912.0> : tensor<f32>
  %large = dataflow.constant dense<1.0e+30> : tensor<f32>
  %0 = dataflow.mul %x, %k : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %1 = dataflow.relu %0 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = dataflow.mul %1, %row : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %3 = dataflow.mul %2, %column : (tensor<2x2xf32>, tensor<2x1xf32>) -> tensor<2x2xf32>
  %4 = dataflow.add %3, %magic : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %5 = dataflow.sub %4, %magic : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %6 = dataflow.mul %5, %large : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %7 = dataflow.mul %6, %large : (tensor<2x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  %8 = dataflow.mul %i, %j : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  %9 = dataflow.mul %8, %j : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  func.return %7, %9 : tensor<2x2xf32>, tensor<2xi32>
}

// -----

// A division that is rounded to whole numbers is exact; its inverse is where it is a power of two.
// CHECK-LABEL: func.func @main
// CHECK: %a = dataflow.div %x
// CHECK: dataflow.floor %a
// CHECK: %b = dataflow.div %x
// CHECK: dataflow.cast %b
// CHECK: %c = dataflow.mul %x
// CHECK: dataflow.floor %c
// CHECK: %d = dataflow.mul %x
// CHECK-NEXT: func.return
func.func @main(%x: tensor<80xf32>) -> (tensor<80xf32>, tensor<80xi32>, tensor<80xf32>, tensor<80xf32>) {
  %c49 = dataflow.constant dense<49.0> : tensor<f32>
  %c8 = dataflow.constant dense<8.0> : tensor<f32>
  %a = dataflow.div %x, %c49 : (tensor<80xf32>, tensor<f32>) -> tensor<80xf32>
  %rows = dataflow.floor %a : (tensor<80xf32>) -> tensor<80xf32>
  %b = dataflow.div %x, %c49 : (tensor<80xf32>, tensor<f32>) -> tensor<80xf32>
  %row = dataflow.cast %b : (tensor<80xf32>) -> tensor<80xi32>
  %c = dataflow.div %x, %c8 : (tensor<80xf32>, tensor<f32>) -> tensor<80xf32>
  %eighths = dataflow.floor %c : (tensor<80xf32>) -> tensor<80xf32>
  %d = dataflow.div %x, %c49 : (tensor<80xf32>, tensor<f32>) -> tensor<80xf32>
  func.return %rows, %row, %eighths, %d : tensor<80xf32>, tensor<80xi32>, tensor<80xf32>, tensor<80xf32>
}
