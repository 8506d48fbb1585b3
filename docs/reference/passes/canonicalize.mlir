// -p 'canonicalize'
func.func @main(%x: tensor<4x8xf32> {dataflow.name = "x"}) -> (tensor<4x8xf32> {dataflow.name = "y"}) {
  %0 = dataflow.transpose %x [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = dataflow.transpose %0 [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %a = dataflow.constant dense<2.0> : tensor<f32>
  %b = dataflow.constant dense<3.0> : tensor<f32>
  %c = dataflow.add %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %y = dataflow.mul %1, %c : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
