// Spec 3, figure 1: relu -> conv1 -> matmul -> mean -> add1 -> softmax; relu -> conv2 -> axpy -> sub -> add2 -> softmax. Products
// stand for both convolutions and the matrix product, each with 64 bytes of weights. With at most 128 bytes a part, the
// third of them (in the program's order: conv2) begins a new one.

// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=weight-bytes weight-bytes=128}' --check-semantics | filecheck %s

// CHECK:     manycore.subgraph @"0"
// CHECK:       %conv1 = dataflow.matmul
// CHECK:       %matmul = dataflow.matmul
// CHECK-NOT:   dataflow.matmul
// CHECK:     manycore.subgraph @"1"
// CHECK:       %conv2 = dataflow.matmul
// CHECK:       dataflow.add
// CHECK-NOT: manycore.subgraph
func.func @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %w1 = dataflow.constant dense<[[1.0, 2.0, 3.0, 4.0], [0.5, 1.5, 2.5, 3.5], [0.0, 1.0, 0.0, 1.0], [2.0, 0.0, 2.0, 0.0]]> : tensor<4x4xf32>
  %w2 = dataflow.constant dense<[[0.0, 2.0, 1.0, 4.0], [0.5, 1.0, 2.5, 0.5], [0.0, 1.0, 3.0, 1.0], [2.0, 0.0, 1.0, 0.0]]> : tensor<4x4xf32>
  %w3 = dataflow.constant dense<[[1.0, 0.0, 1.0, 2.0], [1.5, 1.0, 0.5, 0.5], [4.0, 1.0, 3.0, 0.0], [0.0, 0.0, 1.0, 1.0]]> : tensor<4x4xf32>
  %relu = dataflow.relu %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %conv1 = dataflow.matmul %relu, %w1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %matmul = dataflow.matmul %conv1, %w2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %mean = dataflow.tanh %matmul : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %add1 = dataflow.add %mean, %relu : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %conv2 = dataflow.matmul %relu, %w3 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %axpy = dataflow.add %conv2, %relu : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %sub = dataflow.neg %axpy : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %softmax = dataflow.add %add1, %sub : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %softmax : tensor<4x4xf32>
}
