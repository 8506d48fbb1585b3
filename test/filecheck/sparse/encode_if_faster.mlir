// A product with one weight in 512 is faster with its weights encoded, one with all weights is not.

// RUN: python -c "import numpy as n; n.eye(512, 128, dtype='<f4').tofile(r'%t.bin')"
// RUN: sed 's|FILE|%t.bin|' %s > %t.mlir
// RUN: meshloom-opt %t.mlir -p 'sparse-encode-if-faster{chip=tiny}' | filecheck %s

// CHECK:      %[[SPARSE:.*]] = sparse.encode %w
// CHECK-NEXT: sparse.matmul %x, %[[SPARSE]]
// CHECK-NEXT: %full = dataflow.constant dense<5.000000e-01>
// CHECK-NEXT: dataflow.matmul %y, %full
func.func @main(%x: tensor<64x512xf32> {dataflow.name = "x"}) -> (tensor<64x16xf32> {dataflow.name = "z"}) {
  %w = dataflow.weight @w {source = "FILE", offset = 0 : i64, bytes = 262144 : i64, sha256 = "dc1634c814d418b46d6bcb145c49e76032da3797605c7539bdc2a6f69967c53d"} : tensor<512x128xf32>
  %y = dataflow.matmul %x, %w : (tensor<64x512xf32>, tensor<512x128xf32>) -> tensor<64x128xf32>
  %full = dataflow.constant dense<0.5> : tensor<128x16xf32>
  %z = dataflow.matmul %y, %full : (tensor<64x128xf32>, tensor<128x16xf32>) -> tensor<64x16xf32>
  func.return %z : tensor<64x16xf32>
}
