// -p 'dataflow-prune{density=0.1},sparse-split-inputs{chip=grid}'
func.func @main(%x: tensor<1x1024xf32> {dataflow.name = "x"}) -> (tensor<1x64xf32> {dataflow.name = "y"}) {
  %w = dataflow.constant dense<1.0> : tensor<64x1024xf32>
  %y = dataflow.matmul %x, %w transpose_b : (tensor<1x1024xf32>, tensor<64x1024xf32>) -> tensor<1x64xf32>
  func.return %y : tensor<1x64xf32>
}
