// RUN: meshloom-opt %s -p 'sparse-select-encoding{objective=cycles chip=edge calibrate=0}' --check-semantics 2>&1 | filecheck %s
// RUN: meshloom-opt %s -p 'sparse-select-encoding{objective=cycles chip=edge}' | filecheck %s --check-prefix=UNKNOWN

// What is not negative is encoded where many rows meet; what it is multiplied with stays dense.
// UNKNOWN-NOT:  sparse.
// CHECK:        %[[E:.*]] = sparse.encode %r nonzero [{{5.[0-9e+-]+|4.[0-9e+-]+}}
// CHECK-NEXT:   %y = sparse.matmul %[[E]], %w : (tensor<4096x256xf32, #sparse.index<direct>>, tensor<256x32xf32>)
func.func @main(%x: tensor<4096x256xf32>) -> tensor<4096x32xf32> {
  %w = dataflow.constant dense<3.0> : tensor<256x32xf32>
  %r = dataflow.relu %x : (tensor<4096x256xf32>) -> tensor<4096x256xf32>
  %y = dataflow.matmul %r, %w : (tensor<4096x256xf32>, tensor<256x32xf32>) -> tensor<4096x32xf32>
  func.return %y : tensor<4096x32xf32>
}
