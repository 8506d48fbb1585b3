// -p 'dataflow-merge-constants'
func.func @main(%x: tensor<4x8xf32> {dataflow.name = "x"}) -> (tensor<4x8xf32> {dataflow.name = "y"}) {
  %a = dataflow.constant dense<0.5> : tensor<8xf32>
  %b = dataflow.constant dense<0.5> : tensor<8xf32>
  %0 = dataflow.add %x, %a : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %y = dataflow.mul %0, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
