// RUN: meshloom-opt %s -p 'manycore-place{chip=tiny}' --check-semantics | filecheck %s
// RUN: meshloom-opt %s -p 'manycore-place{chip=tiny method=row-major}' --check-semantics | filecheck %s --check-prefix=ROW
// RUN: meshloom-opt %s -p 'manycore-place{chip=tiny method=planned}' | filecheck %s --check-prefix=PLANNED
// RUN: meshloom-opt %s -p 'manycore-place{chip=tiny method=greedy objective=traffic}' --check-semantics | filecheck %s --check-prefix=GREEDY
// RUN: meshloom-opt %s -p 'manycore-place{chip=tiny method=literal}' --check-semantics | filecheck %s --check-prefix=MAPPED
// RUN: meshloom-opt %s -p 'manycore-place{chip=tiny method=hops}' --check-semantics | filecheck %s --check-prefix=MAPPED
// RUN: meshloom-opt %s -p 'manycore-place{chip=tiny method=multicast}' --check-semantics | filecheck %s --check-prefix=MAPPED
// RUN: meshloom-opt %s -p 'manycore-place{chip=tiny method=matched}' --check-semantics | filecheck %s --check-prefix=MAPPED
// RUN: not meshloom-opt %s -p manycore-place 2>&1 | filecheck %s --check-prefix=NOCHIP
// RUN: not meshloom-opt %s -p 'manycore-place{chip=tiny method=best}' 2>&1 | filecheck %s --check-prefix=METHOD
// RUN: not meshloom-opt %s -p 'manycore-place{chip=tiny objective=speed}' 2>&1 | filecheck %s --check-prefix=OBJECTIVE
// RUN: sed 's/ in dram//' %s | not meshloom-opt -p 'manycore-place{chip=tiny}' 2>&1 | filecheck %s --check-prefix=TILED

// NOCHIP: error: {{.*}}no chip is given: use manycore-place{chip=NAME}, or module attribute manycore.chip
// METHOD: error: {{.*}}no placement method 'best': choose one of default, planned, row-major
// OBJECTIVE: error: {{.*}}objective 'speed': choose one of multicast, traffic
// TILED: error: {{.*}}task 'sum' is not tiled: run manycore-tile before manycore-place

// The halves of the rows of @halves go crosswise to the tasks of @sum's tiles: core 3 reads what core 0 holds and the
// other way round. Each of these tasks may only exchange its own cores; the best that can be done is to read in place.

// CHECK:        manycore.task @halves({{.*}}) -> tensor<64x16xf32> in sram tiled <grid = [2, 1], cores = {{\[}}[[A:[0-3]]], [[B:[0-3]]]]
// CHECK:        manycore.task @sum({{.*}}) -> tensor<64x16xf32> in dram tiled <grid = [2, 1], cores = {{\[}}[[A]], [[B]]]
// ROW:          manycore.task @halves({{.*}}) -> tensor<64x16xf32> in sram tiled <grid = [2, 1], cores = [0, 1]
// ROW:          manycore.task @sum({{.*}}) -> tensor<64x16xf32> in dram tiled <grid = [2, 1], cores = [0, 1]
// PLANNED:      manycore.task @halves({{.*}}) -> tensor<64x16xf32> in sram tiled <grid = [2, 1], cores = [0, 3]
// PLANNED:      manycore.task @sum({{.*}}) -> tensor<64x16xf32> in dram tiled <grid = [2, 1], cores = [3, 0]
// GREEDY:       manycore.task @halves({{.*}}) -> tensor<64x16xf32> in sram tiled <grid = [2, 1], cores = [0, 3]
// GREEDY:       manycore.task @sum({{.*}}) -> tensor<64x16xf32> in dram tiled <grid = [2, 1], cores = [0, 3]
// MAPPED:       manycore.task @halves({{.*}}) -> tensor<64x16xf32> in sram tiled <grid = [2, 1], cores = {{\[}}[[C:[03]]], [[D:[03]]]]
// MAPPED:       manycore.task @sum({{.*}}) -> tensor<64x16xf32> in dram tiled <grid = [2, 1], cores = {{\[}}[[C]], [[D]]]
func.func @main(%x: tensor<64x16xf32>) -> tensor<64x16xf32> {
  %halves = manycore.task @halves(%a = %x : tensor<64x16xf32>) -> tensor<64x16xf32>
      in sram tiled <grid = [2, 1], cores = [0, 3], steps = [1, 1], order = [0, 1]> {
    %0 = dataflow.tanh %a : (tensor<64x16xf32>) -> tensor<64x16xf32>
    manycore.yield %0 : tensor<64x16xf32>
  }
  %sum = manycore.task @sum(%a = %halves : tensor<64x16xf32>) -> tensor<64x16xf32>
      in dram tiled <grid = [2, 1], cores = [3, 0], steps = [1, 1], order = [0, 1]> {
    %0 = dataflow.relu %a : (tensor<64x16xf32>) -> tensor<64x16xf32>
    manycore.yield %0 : tensor<64x16xf32>
  }
  func.return %sum : tensor<64x16xf32>
}
