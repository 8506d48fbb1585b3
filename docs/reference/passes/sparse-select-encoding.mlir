// -p 'sparse-select-encoding'
// @w: 64x80 elements, 0.1 of them not zero
func.func @main(%x: tensor<1x64xf32> {dataflow.name = "x"}) -> (tensor<1x80xf32> {dataflow.name = "y"}) {
  %w = dataflow.weight @w {source = "mem", offset = 0 : i64, bytes = 20480 : i64,
      sha256 = "132ba9452da22cb2d4792127dff2434c636042ef2b9ac9973da2cd3334b505be"} : tensor<64x80xf32>
  %y = dataflow.matmul %x, %w : (tensor<1x64xf32>, tensor<64x80xf32>) -> tensor<1x80xf32>
  func.return %y : tensor<1x80xf32>
}
