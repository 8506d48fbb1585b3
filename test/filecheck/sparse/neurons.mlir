// RUN: meshloom-opt %s | meshloom-opt | filecheck %s
// RUN: meshloom-opt %s --print-op-generic | meshloom-opt | filecheck %s
// RUN: meshloom-opt %s -p 'sparse-pack{chip=edge}' | filecheck %s --check-prefix=PACK
// RUN: meshloom-opt %s -p 'sparse-pack{chip=edge},sparse-to-dataflow' --check-semantics | filecheck %s --check-prefix=DENSE

// CHECK:      %0 = sparse.encode %x nonzero [2.500000e-01, 1.000000e+00, 5.000000e+00, 3.000000e-01, 5.000000e-01, 1.250000e-01, 7.500000e-01] : tensor<1x4x6xf32> -> tensor<1x4x6xf32, #sparse.index<direct>>
// CHECK:      %y = sparse.conv %0, %w strides [1] dilations [1] pad [0] to [0] groups 1
// PACK:       %1 = sparse.decode %0
// PACK-NEXT:  %y = dataflow.conv %1, %w strides [1] dilations [1] pad [0] to [0] groups 1 nonzero [2.500000e-01, 1.000000e+00, 5.000000e+00, 3.000000e-01, 5.000000e-01, 1.250000e-01, 7.500000e-01] :
// DENSE:      %y = dataflow.conv %x, %w strides [1] dilations [1] pad [0] to [0] groups 1 nonzero [2.500000e-01, 1.000000e+00, 5.000000e+00, 3.000000e-01, 5.000000e-01, 1.250000e-01, 7.500000e-01] :
func.func @main(%x: tensor<1x4x6xf32>, %w: tensor<3x4x2xf32>, %v: tensor<4x2xf32>) -> (tensor<1x3x5xf32>, tensor<1x6x2xf32>) {
  %0 = sparse.encode %x nonzero [0.25, 1.0, 5.0, 0.3, 0.5, 0.125, 0.75] : tensor<1x4x6xf32> -> tensor<1x4x6xf32, #sparse.index<direct>>
  %y = sparse.conv %0, %w strides [1] dilations [1] pad [0] to [0] groups 1
    : (tensor<1x4x6xf32, #sparse.index<direct>>, tensor<3x4x2xf32>) -> tensor<1x3x5xf32>
  // CHECK:      %z = dataflow.matmul %x, %v transpose_a nonzero [1.250000e-01] :
  // DENSE:      %z = dataflow.matmul %x, %v transpose_a nonzero [1.250000e-01] :
  %z = dataflow.matmul %x, %v transpose_a nonzero [0.125] : (tensor<1x4x6xf32>, tensor<4x2xf32>) -> tensor<1x6x2xf32>
  func.return %y, %z : tensor<1x3x5xf32>, tensor<1x6x2xf32>
}
