// -p 'dataflow-to-manycore,manycore-tile{chip=tiny},manycore-place{chip=tiny method=multicast}'
func.func @main(%x: tensor<4x8xf32> {dataflow.name = "x"}) -> (tensor<4x8xf32> {dataflow.name = "y"}) {
  %w = dataflow.constant dense<0.5> : tensor<8x8xf32>
  %0 = dataflow.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %y = dataflow.matmul %0, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
