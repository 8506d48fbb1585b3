// RUN: meshloom-opt %s -p 'sparse-split-inputs{chip=edge}' | filecheck %s
// RUN: not meshloom-opt %s -p 'sparse-split-inputs' 2>&1 | filecheck %s --check-prefix=CHIP

// A product that takes a few loads of weights is faster in one than in two tasks.
// CHECK: %y = dataflow.matmul %x, %w : (tensor<1x4xf32>, tensor<4x2xf32>) -> tensor<1x2xf32>
// CHIP:  error: no chip is given: use sparse-split-inputs{chip=NAME}
func.func @main(%x: tensor<1x4xf32>) -> tensor<1x2xf32> {
  %w = dataflow.constant dense<[[1.0, 0.0], [3.0, 0.0], [5.0, 0.0], [0.0, 8.0]]> : tensor<4x2xf32>
  %y = dataflow.matmul %x, %w : (tensor<1x4xf32>, tensor<4x2xf32>) -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}
