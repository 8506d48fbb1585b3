// -p 'dataflow-differentiate{loss="mean-squared-error" optimizer=sgd rate=0.1}'
func.func @main(%x: tensor<4x8xf32> {dataflow.name = "x"}, %w: tensor<8x2xf32> {dataflow.name = "w", dataflow.parameter})
    -> (tensor<4x2xf32> {dataflow.name = "y"}) {
  %y = dataflow.matmul %x, %w : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  func.return %y : tensor<4x2xf32>
}
