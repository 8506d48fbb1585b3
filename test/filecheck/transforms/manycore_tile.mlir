// RUN: meshloom-opt %s -p 'manycore-tile{chip=tiny}' --check-semantics | filecheck %s
// RUN: not meshloom-opt %s -p manycore-tile 2>&1 | filecheck %s --check-prefix=NOCHIP
// RUN: not meshloom-opt %s -p 'manycore-tile{chip=nowhere}' 2>&1 | filecheck %s --check-prefix=UNKNOWN

// NOCHIP: error: {{.*}}no chip is given: use manycore-tile{chip=NAME}, or module attribute manycore.chip
// UNKNOWN: error: {{.*}}no chip named 'nowhere': choose one of

// 64 x 256 floats by 256 x 64: 64 KiB each of the operands, so four cores with 64 KiB of SRAM share the work, and what is
// between the two tasks stays with them. @kept has a placement: it keeps its tiling.

// CHECK:      builtin.module attributes {manycore.chip = #manycore.chip<"tiny">}
// CHECK:      manycore.task @big({{.*}}) -> tensor<64x64xf32> in sram tiled <grid = [{{.*}}], cores = [{{[0-3], [0-3], [0-3], [0-3]}}],
// CHECK:      manycore.task @kept({{.*}}) -> tensor<64x64xf32> in dram tiled <grid = [1, 3], cores = [2, 0, 3], steps = [2, 1], order = [0, 1]>
func.func @main(%x: tensor<64x256xf32>, %w: tensor<256x64xf32>) -> tensor<64x64xf32> {
  %big = manycore.task @big(%a = %x : tensor<64x256xf32>, %b = %w : tensor<256x64xf32>) -> tensor<64x64xf32>
      tiled <grid = [1, 1, 1], cores = [0], steps = [1, 1, 1], order = [0, 1, 2]> {
    %0 = dataflow.matmul %a, %b : (tensor<64x256xf32>, tensor<256x64xf32>) -> tensor<64x64xf32>
    manycore.yield %0 : tensor<64x64xf32>
  }
  %kept = manycore.task @kept(%a = %big : tensor<64x64xf32>) -> tensor<64x64xf32>
      in dram tiled <grid = [1, 3], cores = [2, 0, 3], steps = [2, 1], order = [0, 1]> {
    %0 = dataflow.tanh %a : (tensor<64x64xf32>) -> tensor<64x64xf32>
    manycore.yield %0 : tensor<64x64xf32>
  }
  func.return %kept : tensor<64x64xf32>
}
