// -p 'dataflow-block-outputs{chip=tiny}'
func.func @main(%x: tensor<1x4x32x64xf32> {dataflow.name = "x"}) -> (tensor<1x1x32x64xf32> {dataflow.name = "y"}) {
  %w = dataflow.constant dense<0.5> : tensor<1x4x1x9xf32>
  %y = dataflow.conv %x, %w strides [1, 1] dilations [1, 1] pad [0, 4] to [0, 4] groups 1 : (tensor<1x4x32x64xf32>, tensor<1x4x1x9xf32>) -> tensor<1x1x32x64xf32>
  func.return %y : tensor<1x1x32x64xf32>
}
