// -p 'dataflow-split-batch{parts=2}'
func.func @main(%x: tensor<4x8xf32> {dataflow.name = "x"}) -> (tensor<4x8xf32> {dataflow.name = "y"}) {
  %0 = dataflow.tanh %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = dataflow.exp %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
