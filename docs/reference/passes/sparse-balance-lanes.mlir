// -p 'sparse-balance-lanes{chip=tiny}'
func.func @main(%x: tensor<64x2xf32> {dataflow.name = "x"}) -> (tensor<64x1xf32> {dataflow.name = "y"}) {
  %w = dataflow.constant dense<[[1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 4.0, 0.0, 5.0, 0.0], [6.0, 7.0, 8.0, 0.0, 9.0, 0.0, 1.0, 0.0, 2.0, 0.0]]> : tensor<2x10xf32>
  %v = dataflow.constant dense<[[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0], [9.0]]> : tensor<10x1xf32>
  %0 = dataflow.matmul %x, %w : (tensor<64x2xf32>, tensor<2x10xf32>) -> tensor<64x10xf32>
  %y = dataflow.matmul %0, %v : (tensor<64x10xf32>, tensor<10x1xf32>) -> tensor<64x1xf32>
  func.return %y : tensor<64x1xf32>
}
