// RUN: meshloom-opt %s -p dataflow-remove-zero-channels --split-input-file | filecheck %s
// RUN: meshloom-opt %s -p dataflow-remove-zero-channels --split-input-file --check-semantics 2>&1 >/dev/null | filecheck %s --check-prefix=SAME

// SAME-NOT: skipped
// SAME: dataflow-remove-zero-channels kept all results

// The second output channel is relu(2): it goes, and what the product makes of it is added. The product reads nothing of
// the third.
// CHECK-LABEL: func.func @main
// CHECK: %w = dataflow.constant {{.*}} : tensor<2x3x1x1xf32>
// CHECK: %y = dataflow.conv %x, %w {{.*}} : (tensor<1x3x6x6xf32>, tensor<2x3x1x1xf32>) -> tensor<1x2x6x6xf32>
// CHECK: %b = dataflow.constant dense<{{\[\[\[\[}}1.000000e+00]], {{\[\[}}4.000000e+00]]]]> : tensor<1x2x1x1xf32>
// CHECK: %v = dataflow.constant dense<{{\[\[}}1.000000e+00, 3.000000e+00], [3.000000e+00, 2.000000e+00]]> : tensor<2x2xf32>
// CHECK: dataflow.matmul %f, %v transpose_b : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
// CHECK: %[[BIAS:.*]] = dataflow.constant dense<{{\[\[}}4.000000e+00, 8.000000e+00]]> : tensor<1x2xf32>
// CHECK: %o = dataflow.add %{{.*}}, %[[BIAS]]
// CHECK: func.return %o : tensor<1x2xf32>
func.func @main(%x: tensor<1x3x6x6xf32>) -> tensor<1x2xf32> {
  %w = dataflow.constant dense<[[[[1.0]], [[0.0]], [[3.0]]], [[[0.0]], [[-0.0]], [[0.0]]], [[[5.0]], [[0.0]], [[7.0]]], [[[1.0]], [[0.0]], [[2.0]]]]> : tensor<4x3x1x1xf32>
  %b = dataflow.constant dense<[[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]]> : tensor<1x4x1x1xf32>
  %v = dataflow.constant dense<[[1.0, 2.0, 0.0, 3.0], [3.0, 4.0, 0.0, 2.0]]> : tensor<2x4xf32>
  %y = dataflow.conv %x, %w strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 1 : (tensor<1x3x6x6xf32>, tensor<4x3x1x1xf32>) -> tensor<1x4x6x6xf32>
  %z = dataflow.add %y, %b : (tensor<1x4x6x6xf32>, tensor<1x4x1x1xf32>) -> tensor<1x4x6x6xf32>
  %r = dataflow.relu %z : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %m = dataflow.reduce max %r axes [2, 3] : (tensor<1x4x6x6xf32>) -> tensor<1x4x1x1xf32>
  %f = dataflow.reshape %m : (tensor<1x4x1x1xf32>) -> tensor<1x4xf32>
  %o = dataflow.matmul %f, %v transpose_b : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32>
  func.return %o : tensor<1x2xf32>
}

// -----

// Inputs and results keep their shapes: rows are gathered, constant columns put back.
// CHECK-LABEL: func.func @main
// CHECK: %[[ROWS:.*]] = dataflow.constant dense<[1, 6]> : tensor<2xi64>
// CHECK: %[[X:.*]] = dataflow.gather %x, %[[ROWS]] axis 1 : (tensor<1x8xf32>, tensor<2xi64>) -> tensor<1x2xf32>
// CHECK: %[[Y:.*]] = dataflow.matmul %[[X]], %{{.*}} : (tensor<1x2xf32>, tensor<2x3xf32>) -> tensor<1x3xf32>
// CHECK: %[[ZERO:.*]] = dataflow.constant dense<0.000000e+00> : tensor<1x1xf32>
// CHECK: dataflow.concat %[[Y]], %{{.*}} axis 1 : (tensor<1x3xf32>, tensor<1x1xf32>) -> tensor<1x4xf32>
// CHECK: dataflow.constant dense<[0, 3, 1, 3, 2]> : tensor<5xi64>
// CHECK: %[[RESULT:.*]] = dataflow.gather {{.*}} axis 1 : (tensor<1x4xf32>, tensor<5xi64>) -> tensor<1x5xf32>
// CHECK: func.return %[[RESULT]]
func.func @main(%x: tensor<1x8xf32>) -> tensor<1x5xf32> {
  %w = dataflow.constant dense<[
    [0.0, 0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 2.0, 0.0, 3.0], [0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0],
    [0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0], [4.0, 0.0, 5.0, 0.0, 6.0], [0.0, 0.0, 0.0, 0.0, 0.0]
  ]> : tensor<8x5xf32>
  %y = dataflow.matmul %x, %w : (tensor<1x8xf32>, tensor<8x5xf32>) -> tensor<1x5xf32>
  func.return %y : tensor<1x5xf32>
}

// -----

// What lies around is zero and the channel is not: it stays.
// CHECK-LABEL: func.func @main
// CHECK: dataflow.conv %r, %v {{.*}} : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x1x3x3xf32>
func.func @main(%x: tensor<1x1x3x3xf32>) -> tensor<1x1x3x3xf32> {
  %w = dataflow.constant dense<[[[[1.0]]], [[[0.0]]]]> : tensor<2x1x1x1xf32>
  %b = dataflow.constant dense<[[[[1.0]], [[2.0]]]]> : tensor<1x2x1x1xf32>
  %v = dataflow.constant dense<1.0> : tensor<1x2x3x3xf32>
  %y = dataflow.conv %x, %w strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 1 : (tensor<1x1x3x3xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x3x3xf32>
  %r = dataflow.add %y, %b : (tensor<1x2x3x3xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x3x3xf32>
  %z = dataflow.conv %r, %v strides [1, 1] dilations [1, 1] pad [1, 1] to [1, 1] groups 1 : (tensor<1x2x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x1x3x3xf32>
  func.return %z : tensor<1x1x3x3xf32>
}

// -----

// Channels that are concatenated and scaled go from all that they are made of.
// CHECK-LABEL: func.func @main
// CHECK-DAG: dataflow.conv {{.*}} -> tensor<1x1x3x3xf32>
// CHECK-DAG: dataflow.conv {{.*}} -> tensor<1x2x3x3xf32>
// CHECK: dataflow.concat {{.*}} axis 1 : (tensor<1x1x3x3xf32>, tensor<1x2x3x3xf32>) -> tensor<1x3x3x3xf32>
// CHECK: dataflow.constant {{.*}} : tensor<3x1x1xf32>
// CHECK: dataflow.transpose {{.*}} -> tensor<1x3x3x3xf32>
// CHECK: dataflow.matmul {{.*}} : (tensor<1x3x3x3xf32>, tensor<3x1xf32>) -> tensor<1x3x3x1xf32>
func.func @main(%x: tensor<1x1x3x3xf32>) -> tensor<1x3x3x1xf32> {
  %w = dataflow.constant dense<1.0> : tensor<2x1x1x1xf32>
  %v = dataflow.constant dense<[[[[2.0]]], [[[0.0]]], [[[3.0]]]]> : tensor<3x1x1x1xf32>
  %s = dataflow.constant dense<[[[2.0]], [[3.0]], [[4.0]], [[5.0]], [[6.0]]]> : tensor<5x1x1xf32>
  %m = dataflow.constant dense<[[0.0], [1.0], [1.0], [1.0], [1.0]]> : tensor<5x1xf32>
  %a = dataflow.conv %x, %w strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 1 : (tensor<1x1x3x3xf32>, tensor<2x1x1x1xf32>) -> tensor<1x2x3x3xf32>
  %b = dataflow.conv %x, %v strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 1 : (tensor<1x1x3x3xf32>, tensor<3x1x1x1xf32>) -> tensor<1x3x3x3xf32>
  %c = dataflow.concat %a, %b axis 1 : (tensor<1x2x3x3xf32>, tensor<1x3x3x3xf32>) -> tensor<1x5x3x3xf32>
  %d = dataflow.mul %c, %s : (tensor<1x5x3x3xf32>, tensor<5x1x1xf32>) -> tensor<1x5x3x3xf32>
  %t = dataflow.transpose %d [0, 2, 3, 1] : (tensor<1x5x3x3xf32>) -> tensor<1x3x3x5xf32>
  %y = dataflow.matmul %t, %m : (tensor<1x3x3x5xf32>, tensor<5x1xf32>) -> tensor<1x3x3x1xf32>
  func.return %y : tensor<1x3x3x1xf32>
}

// -----

// The second result of a loop, of another rank than the first, keeps its channels: what reads few of them gathers these.
// CHECK-LABEL: func.func @main
// CHECK: %h, %sum = dataflow.loop
// CHECK: dataflow.matmul %{{.*}} : (tensor<1x2xf32>, tensor<2x8xf32>) -> tensor<1x8xf32>
func.func @main(%x: tensor<3x1x4xf32>, %n: tensor<4xf32>) -> (tensor<1x8xf32>, tensor<4xf32>) {
  %zero = dataflow.constant dense<0.0> : tensor<1x4xf32>
  %weights = dataflow.constant dense<[[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]]> : tensor<4x8xf32>
  %h, %sum = dataflow.loop 3 steps carry(%g = %n : tensor<4xf32>, %s = %zero : tensor<1x4xf32>) scan(%row = %x axis 0 : tensor<3x1x4xf32>) {
    %more = dataflow.add %s, %row : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
    %twice = dataflow.add %g, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dataflow.yield %twice, %more : tensor<4xf32>, tensor<1x4xf32>
  }
  %y = dataflow.matmul %sum, %weights : (tensor<1x4xf32>, tensor<4x8xf32>) -> tensor<1x8xf32>
  func.return %y, %h : tensor<1x8xf32>, tensor<4xf32>
}
