// -p 'sparse-encode-if-faster{chip=tiny effort=fast}'
// @w: 512x128 elements, 0.01 of them not zero
func.func @main(%x: tensor<64x512xf32> {dataflow.name = "x"}) -> (tensor<64x128xf32> {dataflow.name = "y"}) {
  %w = dataflow.weight @w {source = "mem", offset = 0 : i64, bytes = 262144 : i64,
      sha256 = "553ddb4a71689f3ebd5c57e4014cd6f9faa26a5416f28a022a4359165fcbf1a3"} : tensor<512x128xf32>
  %y = dataflow.matmul %x, %w : (tensor<64x512xf32>, tensor<512x128xf32>) -> tensor<64x128xf32>
  func.return %y : tensor<64x128xf32>
}
