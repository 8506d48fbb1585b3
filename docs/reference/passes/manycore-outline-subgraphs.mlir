// -p 'manycore-outline-subgraphs{rule=key-nodes}'
func.func @main(%x: tensor<4x8xf32> {dataflow.name = "x"}) -> (tensor<4x8xf32> {dataflow.name = "y"}) {
  %w = dataflow.constant dense<0.5> : tensor<8x8xf32>
  %0 = dataflow.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = dataflow.relu %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = dataflow.matmul %1, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
