// Weights of integers that fit in 4 bits, which only contractions read, are held two a byte.

// RUN: python -c "import sys; sys.stdout.buffer.write(bytes(range(8)) * 16 + bytes([128] * 128))" > %t.bin
// RUN: sed -e "s|FILE|%t.bin|" %s > %t.mlir
// RUN: meshloom-opt %t.mlir -p dataflow-pack-weights --check-semantics | filecheck %s

// CHECK:      %w = dataflow.weight @w {source = "mem", {{.*}}bytes = 64 : i64, {{.*}}} : tensor<8x8xvector<2xi4>>
// CHECK-NEXT: %wide = dataflow.weight @wide {{.*}} : tensor<16x8xi8>
// CHECK-NEXT: dataflow.matmul %x, %w : (tensor<1x16xf32>, tensor<8x8xvector<2xi4>>)
// CHECK-NEXT: dataflow.matmul %x, %wide : (tensor<1x16xf32>, tensor<16x8xi8>)
func.func @main(%x: tensor<1x16xf32> {dataflow.name = "x"})
    -> (tensor<1x8xf32> {dataflow.name = "y"}, tensor<1x8xf32> {dataflow.name = "z"}) {
  %w = dataflow.weight @w {source = "FILE", offset = 0 : i64, bytes = 128 : i64, sha256 = "093975ef84b39e5f444990a31da98a5da818406e98b2a37fcf672bd36c44cd63"} : tensor<16x8xi8>
  %wide = dataflow.weight @wide {source = "FILE", offset = 128 : i64, bytes = 128 : i64, sha256 = "b7effd43ee5016021d067dd32ade04f37a347efe942297070e5cc56f47fddfbb"} : tensor<16x8xi8>
  %y = dataflow.matmul %x, %w : (tensor<1x16xf32>, tensor<16x8xi8>) -> tensor<1x8xf32>
  %z = dataflow.matmul %x, %wide : (tensor<1x16xf32>, tensor<16x8xi8>) -> tensor<1x8xf32>
  func.return %y, %z : tensor<1x8xf32>, tensor<1x8xf32>
}
