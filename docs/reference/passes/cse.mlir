// -p 'cse'
func.func @main(%x: tensor<4x8xf32> {dataflow.name = "x"}) -> (tensor<4x8xf32> {dataflow.name = "y"}) {
  %0 = dataflow.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = dataflow.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = dataflow.add %0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
