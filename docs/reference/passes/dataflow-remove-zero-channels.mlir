// -p 'dataflow-remove-zero-channels'
func.func @main(%x: tensor<2x4xf32> {dataflow.name = "x"}) -> (tensor<2x2xf32> {dataflow.name = "y"}) {
  %w = dataflow.constant dense<[[1.0, 0.0, 2.0], [3.0, 0.0, 4.0], [5.0, 0.0, 6.0], [7.0, 0.0, 8.0]]> : tensor<4x3xf32>
  %v = dataflow.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %0 = dataflow.matmul %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %1 = dataflow.relu %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %y = dataflow.matmul %1, %v : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}
