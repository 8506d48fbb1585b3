// -p 'manycore-autotune{chip=tiny jobs=1}'
func.func @main(%x: tensor<4x8xf32> {dataflow.name = "x"}) -> (tensor<4x8xf32> {dataflow.name = "y"}) {
  %w = dataflow.constant dense<0.5> : tensor<8x8xf32>
  %b = dataflow.constant dense<0.25> : tensor<8xf32>
  %0 = dataflow.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = dataflow.add %0, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %y = dataflow.relu %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
