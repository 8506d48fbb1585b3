// Weights of products are stored by column where the columns of one core do not fill a DRAM burst: of four cores, each
// computes one column of %narrow and eight columns, 32 bytes, of %wide. Another operation reads %shared, too.

// RUN: python -c "import numpy, sys; r = numpy.arange(64, dtype='<f4'); sys.stdout.buffer.write(r[:32].tobytes() + (r / 2).tobytes() + (r[:32] - 7).tobytes())" > %t.bin
// RUN: sed -e "s|FILE|%t.bin|" %s > %t.mlir
// RUN: meshloom-opt %t.mlir -p 'dataflow-transpose-weights{chip=tiny}' --check-semantics | filecheck %s

// CHECK:      %narrow = dataflow.weight @narrow {source = "mem", {{.*}}bytes = 128 : i64, {{.*}}} : tensor<4x8xf32>
// CHECK-NEXT: %wide = dataflow.weight @wide {{.*}} : tensor<2x32xf32>
// CHECK-NEXT: %shared = dataflow.weight @shared {{.*}} : tensor<8x4xf32>
// CHECK-NEXT: dataflow.matmul %x, %narrow transpose_b : (tensor<3x8xf32>, tensor<4x8xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: dataflow.slice %x
// CHECK-NEXT: dataflow.matmul %part, %wide : (tensor<3x2xf32>, tensor<2x32xf32>) -> tensor<3x32xf32>
// CHECK-NEXT: dataflow.matmul %x, %shared : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: dataflow.exp %shared
func.func @main(%x: tensor<3x8xf32> {dataflow.name = "x"})
    -> (tensor<3x4xf32> {dataflow.name = "a"}, tensor<3x32xf32> {dataflow.name = "b"},
        tensor<3x4xf32> {dataflow.name = "c"}, tensor<8x4xf32> {dataflow.name = "d"}) {
  %narrow = dataflow.weight @narrow {source = "FILE", offset = 0 : i64, bytes = 128 : i64, sha256 = "0c43f2957858ef1a2ee3e2cec548164d548995c05a42c6588927998cd6dd10d7"} : tensor<8x4xf32>
  %wide = dataflow.weight @wide {source = "FILE", offset = 128 : i64, bytes = 256 : i64, sha256 = "a45f76d75e02c69a1b66f75008b3136e3a8b1bf65bf1c13dc773a6280c34c17e"} : tensor<2x32xf32>
  %shared = dataflow.weight @shared {source = "FILE", offset = 384 : i64, bytes = 128 : i64, sha256 = "3b0de9877f9fd765780bb774ca33d37a4f4fb0cc9a02cd15427b79cfd30b8ca0"} : tensor<8x4xf32>
  %a = dataflow.matmul %x, %narrow : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %part = dataflow.slice %x starts [0, 0] sizes [3, 2] steps [1, 1] : (tensor<3x8xf32>) -> tensor<3x2xf32>
  %b = dataflow.matmul %part, %wide : (tensor<3x2xf32>, tensor<2x32xf32>) -> tensor<3x32xf32>
  %c = dataflow.matmul %x, %shared : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  %d = dataflow.exp %shared : (tensor<8x4xf32>) -> tensor<8x4xf32>
  func.return %a, %b, %c, %d : tensor<3x4xf32>, tensor<3x32xf32>, tensor<3x4xf32>, tensor<8x4xf32>
}
