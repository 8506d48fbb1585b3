// -p 'dataflow-cascade{first=a last=y stripes=2}'
func.func @main(%x: tensor<1x3x8x8xf32> {dataflow.name = "x"}, %w: tensor<3x3x3x3xf32> {dataflow.name = "w"})
    -> (tensor<1x3x8x8xf32> {dataflow.name = "y"}) {
  %a = dataflow.conv %x, %w strides [1, 1] dilations [1, 1] pad [1, 1] to [1, 1] groups 1
      : (tensor<1x3x8x8xf32>, tensor<3x3x3x3xf32>) -> tensor<1x3x8x8xf32>
  %y = dataflow.conv %a, %w strides [1, 1] dilations [1, 1] pad [1, 1] to [1, 1] groups 1
      : (tensor<1x3x8x8xf32>, tensor<3x3x3x3xf32>) -> tensor<1x3x8x8xf32>
  func.return %y : tensor<1x3x8x8xf32>
}
