// RUN: meshloom-opt %s -p 'sparse-pack{chip=edge}' | filecheck %s

// Panels have as many output neurons as was said; where that does not fit, as many as suits the chip.
// CHECK: sparse.panel_matmul %x, %{{.*}} by <direct, outputs = 8 by 3, inputs = 4 by 4,
// CHECK: sparse.panel_matmul %x, %{{.*}} by <direct, outputs = 8 by 8, inputs = 4 by 4,
func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %w = dataflow.constant dense<3.0> : tensor<4x8xf32>
  %0 = sparse.encode %w width 3 : tensor<4x8xf32> -> tensor<4x8xf32, #sparse.index<direct, axis = 1>>
  %1 = sparse.encode %w width 9 : tensor<4x8xf32> -> tensor<4x8xf32, #sparse.index<direct, axis = 1>>
  %y = sparse.matmul %x, %0 : (tensor<2x4xf32>, tensor<4x8xf32, #sparse.index<direct, axis = 1>>) -> tensor<2x8xf32>
  %z = sparse.matmul %x, %1 : (tensor<2x4xf32>, tensor<4x8xf32, #sparse.index<direct, axis = 1>>) -> tensor<2x8xf32>
  func.return %y, %z : tensor<2x8xf32>, tensor<2x8xf32>
}
