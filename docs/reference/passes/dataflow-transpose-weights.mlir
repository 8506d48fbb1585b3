// -p 'dataflow-transpose-weights{chip=tiny}'
func.func @main(%x: tensor<2x32xf32> {dataflow.name = "x"}) -> (tensor<2x4xf32> {dataflow.name = "y"}) {
  %w = dataflow.weight @w {source = "docs/reference/pairs.bin", offset = 0 : i64, bytes = 128 : i64, sha256 = "093975ef84b39e5f444990a31da98a5da818406e98b2a37fcf672bd36c44cd63"} : tensor<32x4xi8>
  %y = dataflow.matmul %x, %w : (tensor<2x32xf32>, tensor<32x4xi8>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}
