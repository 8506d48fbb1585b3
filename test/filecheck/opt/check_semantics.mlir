// RUN: meshloom-opt %s -p canonicalize,cse,dataflow-to-manycore,canonicalize --check-semantics 2>&1 | filecheck %s
// RUN: xdsl-opt %s -p dataflow-to-manycore | filecheck %s --check-prefix=XDSL

// CHECK-DAG: check-semantics: canonicalize, cse, dataflow-to-manycore, canonicalize kept all results (seed 0)
// CHECK-DAG: manycore.task @matmul
// XDSL:      manycore.task @matmul
func.func @main(%x: tensor<3x8xf32>, %w: tensor<8x5xf32>) -> tensor<3x5xf32> {
  %0 = dataflow.matmul %x, %w : (tensor<3x8xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
  %1 = dataflow.relu %0 : (tensor<3x5xf32>) -> tensor<3x5xf32>
  func.return %1 : tensor<3x5xf32>
}
