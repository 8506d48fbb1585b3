// A pass that is given a chip names the tasks that are on cores which that chip does not have.
// RUN: not meshloom-opt %s -p 'manycore-schedule{chip=tiny}' 2>&1 | filecheck %s
// RUN: not meshloom-opt %s -p 'manycore-split-reductions{chip=tiny}' 2>&1 | filecheck %s
// RUN: not meshloom-opt %s -p 'sparse-pack{chip=tiny}' 2>&1 | filecheck %s
// RUN: sed 's/@main/@other/' %s > %t; printf 'func.func @main() {\n  func.return\n}\n' >> %t
// RUN: cat %t | not meshloom-opt -p 'manycore-tile{chip=tiny}' 2>&1 | filecheck %s
// RUN: meshloom-opt %s -p 'manycore-tile{chip=tiny}' | filecheck %s --check-prefix TILED

// CHECK: error: pass '{{.+}}': task 'tanh': core 255 is not usable on chip 'tiny' of 4 cores, 4 of them usable
// TILED: manycore.task @tanh{{.*}} cores = [{{[0-3]}}
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = manycore.task @tanh(%a = %x : tensor<64x64xf32>) -> tensor<64x64xf32>
      tiled <grid = [1, 1], cores = [255], steps = [1, 1], order = [0, 1]> {
    %1 = dataflow.tanh %a : (tensor<64x64xf32>) -> tensor<64x64xf32>
    manycore.yield %1 : tensor<64x64xf32>
  }
  func.return %0 : tensor<64x64xf32>
}
