// -p 'sparse-pack{chip=tiny}'
func.func @main(%x: tensor<2x4xf32> {dataflow.name = "x"}) -> (tensor<2x4xf32> {dataflow.name = "y"}) {
  %w = dataflow.constant dense<[[1.0, 0.0, 0.0, 2.0], [0.0, 0.0, 3.0, 0.0], [0.0, 4.0, 0.0, 0.0], [5.0, 0.0, 0.0, 0.0]]> : tensor<4x4xf32>
  %e = sparse.encode %w : tensor<4x4xf32> -> tensor<4x4xf32, #sparse.index<direct, axis = 1>>
  %y = sparse.matmul %x, %e : (tensor<2x4xf32>, tensor<4x4xf32, #sparse.index<direct, axis = 1>>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}
