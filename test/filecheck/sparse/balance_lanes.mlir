// Of 16 channels those with even numbers have 64 weights, the others 4. A matrix unit of 8 columns works on channels with
// like work together; what is known of the channels further on gets the same order.

// RUN: python -c "import numpy as n; r, c = n.ogrid[:512, :16]; ((r % n.where(c % 2, 128, 8) == 0) * (c + 1)).astype('<f4').tofile(r'%t.bin')"
// RUN: sed 's|FILE|%t.bin|' %s > %t.mlir
// RUN: meshloom-opt %t.mlir -p 'sparse-balance-lanes{chip=tiny}' --check-semantics 2>&1 | filecheck %s

func.func @main(%x: tensor<64x512xf32> {dataflow.name = "x"}) -> (tensor<64x1xf32> {dataflow.name = "z"}) {
  %w = dataflow.weight @w {source = "FILE", offset = 0 : i64, bytes = 32768 : i64, sha256 = "c2f95fbff5a9b2fb9ac68b6af6cf7edb65c2db43f27b3bf388eb84f5ca2dbf25"} : tensor<512x16xf32>
  %y = dataflow.matmul %x, %w : (tensor<64x512xf32>, tensor<512x16xf32>) -> tensor<64x16xf32>
  %v = dataflow.constant dense<[[0.0], [1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0], [9.0], [10.0], [11.0], [12.0], [13.0], [14.0], [15.0]]> : tensor<16x1xf32>
  %z = dataflow.matmul %y, %v : (tensor<64x16xf32>, tensor<16x1xf32>) -> tensor<64x1xf32>
  func.return %z : tensor<64x1xf32>
}

// CHECK: %v = dataflow.constant dense<{{\[}}[0.000000e+00], [2.000000e+00], [4.000000e+00], [6.000000e+00], [8.000000e+00], [1.000000e+01], [1.200000e+01], [1.400000e+01], [1.000000e+00], [3.000000e+00], [5.000000e+00], [7.000000e+00], [9.000000e+00], [1.100000e+01], [1.300000e+01], [1.500000e+01]]>
// CHECK: check-semantics: sparse-balance-lanes kept all results
