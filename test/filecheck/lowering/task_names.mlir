// Tasks of the same operator get different names, which are the same at the levels `manycore` and `memory`.
// RUN: meshloom-opt %s -p 'manycore-autotune' | filecheck %s
// RUN: meshloom-opt %s -p 'manycore-autotune,manycore-to-memory' | filecheck %s --check-prefix MEMORY

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: tensor<8x64xf32>, %v: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<8x64xf32> {
    %0 = dataflow.matmul %x, %v : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
    %1 = dataflow.matmul %0, %w : (tensor<8x64xf32>, tensor<64x64xf32>) -> tensor<8x64xf32>
    func.return %1 : tensor<8x64xf32>
  }
}

// CHECK: manycore.task @matmul(
// CHECK: manycore.task @matmul.1(

// MEMORY: manycore.execute @matmul(
// MEMORY: manycore.execute @matmul.1(
