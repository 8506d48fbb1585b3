// The weights of a task are loaded while the task before it computes, as DRAM has nothing else to do then; where the task
// says already when they are, that stays.

// RUN: meshloom-opt %s -p 'manycore-prefetch{chip=tiny}' --check-semantics | filecheck %s
// RUN: sed 's/order = \[1, 0, 2\]>/order = [1, 0, 2]> prefetch 0/' %s > %t.written.mlir
// RUN: meshloom-opt %t.written.mlir -p 'manycore-prefetch{chip=tiny}' | filecheck %s --check-prefix WRITTEN
// RUN: sed 's/ in dram//' %s > %t.untiled.mlir
// RUN: not meshloom-opt %t.untiled.mlir -p 'manycore-prefetch{chip=tiny}' 2>&1 | filecheck %s --check-prefix TILED
// RUN: not meshloom-opt %s -p manycore-prefetch 2>&1 | filecheck %s --check-prefix NOCHIP

// CHECK:   manycore.task @first({{.*}} prefetch 0 {
// CHECK:   manycore.task @second({{.*}} prefetch 1
// WRITTEN: manycore.task @first({{.*}} prefetch 0 {
// WRITTEN: manycore.task @second({{.*}} prefetch 0 {
// TILED:   error: {{.*}}task 'first' is not tiled: run manycore-tile before manycore-prefetch
// NOCHIP:  error: {{.*}}no chip is given: use manycore-prefetch{chip=NAME}, or module attribute manycore.chip
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %w = dataflow.constant dense<0.5> : tensor<64x64xf32>
  %first = manycore.task @first(%a = %x : tensor<64x64xf32>) -> tensor<64x64xf32>
      in dram tiled <grid = [1, 4, 1], cores = [0, 1, 2, 3], steps = [1, 1, 1], order = [0, 1, 2]> {
    %0 = dataflow.matmul %a, %a : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    manycore.yield %0 : tensor<64x64xf32>
  }
  %second = manycore.task @second(%a = %first : tensor<64x64xf32>, %b = %w : tensor<64x64xf32>) -> tensor<64x64xf32>
      in dram tiled <grid = [4, 1, 1], cores = [0, 1, 2, 3], steps = [1, 2, 1], order = [1, 0, 2]> {
    %0 = dataflow.matmul %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    manycore.yield %0 : tensor<64x64xf32>
  }
  func.return %second : tensor<64x64xf32>
}
