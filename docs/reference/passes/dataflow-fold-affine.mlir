// -p 'dataflow-fold-affine'
func.func @main(%x: tensor<4x8xf32> {dataflow.name = "x"}) -> (tensor<4x8xf32> {dataflow.name = "y"}) {
  %w = dataflow.constant dense<0.5> : tensor<8x8xf32>
  %scale = dataflow.constant dense<[1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 4.0]> : tensor<8xf32>
  %shift = dataflow.constant dense<0.25> : tensor<8xf32>
  %0 = dataflow.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = dataflow.mul %0, %scale : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %y = dataflow.add %1, %shift : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
