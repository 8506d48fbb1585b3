// -p 'dataflow-split-widened{chip=tiny}'
func.func @main(%x: tensor<3x128xf32> {dataflow.name = "x"}) -> (tensor<3x256xf32> {dataflow.name = "y"}) {
  %q = dataflow.constant dense<3> : tensor<128x256xi8>
  %w = dataflow.cast %q : (tensor<128x256xi8>) -> tensor<128x256xf32>
  %y = dataflow.matmul %x, %w : (tensor<3x128xf32>, tensor<128x256xf32>) -> tensor<3x256xf32>
  func.return %y : tensor<3x256xf32>
}
