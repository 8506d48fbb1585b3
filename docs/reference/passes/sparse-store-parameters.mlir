// -p 'sparse-store-parameters{chip=tiny}'
// @w: 40x40 elements, 0.05 of them not zero
func.func @main(%x: tensor<4x40xf32> {dataflow.name = "x"}) -> (tensor<4x40xf32> {dataflow.name = "y"}) {
  %w = dataflow.weight @w {source = "mem", offset = 0 : i64, bytes = 6400 : i64,
      sha256 = "e7e1d4c8381dd0671865a26a30876d040b0f04be74459a7cbc29390a730d6c20"} : tensor<40x40xf32>
  %y = dataflow.matmul %x, %w : (tensor<4x40xf32>, tensor<40x40xf32>) -> tensor<4x40xf32>
  func.return %y : tensor<4x40xf32>
}
