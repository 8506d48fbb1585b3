// -p 'sparse-prune-groups{weight-groups=4 weight-threshold=1.0 weight-limit=1 neuron-groups=2 neuron-threshold=0.1 neuron-limit=1}'
func.func @main(%x: tensor<1x4xf32> {dataflow.name = "x"}) -> (tensor<1x2xf32> {dataflow.name = "y"}) {
  %w = dataflow.constant dense<[[1.0, -4.0], [3.0, 0.5], [-2.0, 6.0], [1.0, 0.25]]> : tensor<4x2xf32>
  %y = dataflow.matmul %x, %w : (tensor<1x4xf32>, tensor<4x2xf32>) -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}
