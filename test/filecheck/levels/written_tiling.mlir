// A tiling written by hand is what the other levels compute and what is compiled: ragged over three cores, the reduced
// dimension in two steps, and a result that stays in the cores.

// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p manycore-tile -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p manycore-to-memory -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'manycore-to-memory' -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'manycore-to-memory,memory-to-coreasm' -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p manycore-tile | filecheck %s --check-prefix=KEPT

// CHECK:      y: {{.*}} = {{\[}}[2.6, 0.8, 3.2, 0. , 1. ],
// CHECK-NEXT: [3.4, 0.4, 1.6, 0. , 0. ],
// CHECK-NEXT: [1.4, 0. , 0. , 1.4, 0. ]]

// KEPT: manycore.task @dense{{.*}} in sram tiled <grid = [1, 3, 1], cores = [3, 0, 2], steps = [2, 1, 2], order = [1, 0, 2]>
// KEPT: manycore.task @scale{{.*}} in dram tiled <grid = [1, 2], cores = [1, 2], steps = [1, 1], order = [0, 1]>
builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: tensor<3x8xf32>, %w: tensor<8x5xf32>, %b: tensor<5xf32>) -> (tensor<3x5xf32> {dataflow.name = "y"}) {
    %0 = manycore.task @dense(%p = %x : tensor<3x8xf32>, %q = %w : tensor<8x5xf32>, %r = %b : tensor<5xf32>) -> tensor<3x5xf32>
        in sram tiled <grid = [1, 3, 1], cores = [3, 0, 2], steps = [2, 1, 2], order = [1, 0, 2]> {
      %1 = dataflow.matmul %p, %q : (tensor<3x8xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
      %2 = dataflow.add %1, %r : (tensor<3x5xf32>, tensor<5xf32>) -> tensor<3x5xf32>
      %3 = dataflow.relu %2 : (tensor<3x5xf32>) -> tensor<3x5xf32>
      manycore.yield %3 : tensor<3x5xf32>
    }
    %c = dataflow.constant dense<0.2> : tensor<1xf32>
    %4 = manycore.task @scale(%p = %0 : tensor<3x5xf32>, %q = %c : tensor<1xf32>) -> tensor<3x5xf32>
        in dram tiled <grid = [1, 2], cores = [1, 2], steps = [1, 1], order = [0, 1]> {
      %5 = dataflow.mul %p, %q : (tensor<3x5xf32>, tensor<1xf32>) -> tensor<3x5xf32>
      manycore.yield %5 : tensor<3x5xf32>
    }
    func.return %4 : tensor<3x5xf32>
  }
}
