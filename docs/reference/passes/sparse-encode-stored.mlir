// -p 'sparse-encode-stored{chip=tiny}'
func.func @main(%x: tensor<64x32xf32> {dataflow.name = "x"}, %values: tensor<12xf32> {dataflow.name = "values"}) -> (tensor<64x32xf32> {dataflow.name = "y"}) {
  %zero = dataflow.constant dense<0.0> : tensor<1024xf32>
  %places = dataflow.constant dense<[2, 33, 81, 126, 177, 276, 301, 394, 429, 498, 540, 557]> : tensor<12xi32>
  %flat = dataflow.scatter add %zero, %places, %values batch 0
      : (tensor<1024xf32>, tensor<12xi32>, tensor<12xf32>) -> tensor<1024xf32>
  %w = dataflow.reshape %flat : (tensor<1024xf32>) -> tensor<32x32xf32>
  %y = dataflow.matmul %x, %w : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  func.return %y : tensor<64x32xf32>
}
