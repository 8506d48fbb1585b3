// RUN: meshloom-opt %s -p 'dataflow-prune{method=balanced density=0.5}' --check-semantics | filecheck %s
// RUN: meshloom-opt %s -p 'dataflow-prune{density=0.5}' | filecheck %s --check-prefix=MAGNITUDE

// Two weights of each output; the four largest of all are those of the first.
// CHECK:     %w = dataflow.constant dense<{{\[}}[6, 0], [0, -3], [0, 2], [7, 0]]> : tensor<4x2xi32>
// CHECK:     %y = dataflow.matmul %x, %w
// MAGNITUDE: %w = dataflow.constant dense<{{\[}}[6, 0], [4, 0], [5, 0], [7, 0]]> : tensor<4x2xi32>
func.func @main(%x: tensor<1x4xi32>) -> tensor<1x2xi32> {
  %w = dataflow.constant dense<[[6, 0], [4, -3], [5, 2], [7, 1]]> : tensor<4x2xi32>
  %y = dataflow.matmul %x, %w : (tensor<1x4xi32>, tensor<4x2xi32>) -> tensor<1x2xi32>
  func.return %y : tensor<1x2xi32>
}
