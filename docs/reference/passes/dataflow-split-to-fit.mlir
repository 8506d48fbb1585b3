// -p 'dataflow-split-to-fit{bytes=512}'
func.func @main(%x: tensor<4x8xf32> {dataflow.name = "x"}) -> (tensor<4x16xf32> {dataflow.name = "y"}) {
  %w = dataflow.constant dense<0.5> : tensor<8x16xf32>
  %y = dataflow.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  func.return %y : tensor<4x16xf32>
}
