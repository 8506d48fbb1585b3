// Constants that tasks keep lie in one buffer, which only the first of the tasks fills.

// RUN: meshloom-opt %s -p manycore-to-memory | filecheck %s
// RUN: meshloom-opt %s -p manycore-to-memory --check-semantics 2>&1 | filecheck %s --check-prefix SAME
// RUN: meshloom-opt %s -p 'manycore-to-memory,memory-to-coreasm{chip=tiny}' --check-semantics 2>&1 | filecheck %s --check-prefix CODE

// SAME: check-semantics: manycore-to-memory kept all results
// CODE: check-semantics: manycore-to-memory, memory-to-coreasm kept all results

// CHECK:      manycore.execute @first(
// CHECK:      memory.load %{{.*}} to %[[B:[^ ]+]] for @first[1] all :
// CHECK-NOT:  for @second[1]
// CHECK:      manycore.execute @second(
// CHECK-SAME: %[[B]]
// CHECK-NOT:  for @last[1]
// CHECK:      manycore.execute @last(
// CHECK-SAME: %[[B]]
// CHECK:      memory.free %[[B]]
// RUN: meshloom-opt %s -p manycore-to-memory | filecheck %s --check-prefix THIRD
// Other slices of the same constant are others.
// THIRD: memory.load %{{.*}} for @third[1] all :

// What is written by hand is checked.
// RUN: meshloom-opt %s -p manycore-to-memory | grep -v 'for @first\[1\]' > %t.mlir
// RUN: not meshloom-opt %t.mlir -p 'memory-to-coreasm{chip=tiny}' 2>&1 | filecheck %s --check-prefix MISSING
// MISSING: task @first: uses read 1 in step 0 before it is transferred
// RUN: meshloom-opt %s -p manycore-to-memory | sed 's/to %first_read1 for @first\[1\] all/to %first_read1 for @first[1] step 0/' > %t.mlir
// RUN: not meshloom-opt %t.mlir -p 'memory-to-coreasm{chip=tiny}' 2>&1 | filecheck %s --check-prefix OTHER
// OTHER: task @second: read 1 is not loaded, and its buffer contains another value
// RUN: not meshloom-opt %t.mlir -t interpret 2>&1 | filecheck %s --check-prefix RUNS
// RUNS: task @second uses read 1 in step 0 on core 0 before it is transferred

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: tensor<1x64xf32>) -> tensor<1x64xf32> {
    %w = dataflow.constant dense<0.03125> : tensor<64x64xf32>
    %first = manycore.task @first(%a = %x : tensor<1x64xf32>, %b = %w : tensor<64x64xf32>) -> tensor<1x64xf32>
        in sram tiled <grid = [1, 2, 1], cores = [0, 1], steps = [1, 1, 1], order = [0, 1, 2]> keeps [1] {
      %0 = dataflow.matmul %a, %b : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
      manycore.yield %0 : tensor<1x64xf32>
    }
    %second = manycore.task @second(%a = %first : tensor<1x64xf32>, %b = %w : tensor<64x64xf32>) -> tensor<1x64xf32>
        in sram tiled <grid = [1, 2, 1], cores = [0, 1], steps = [1, 2, 1], order = [0, 1, 2]> keeps [1] {
      %0 = dataflow.matmul %a, %b : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
      manycore.yield %0 : tensor<1x64xf32>
    }
    %third = manycore.task @third(%a = %second : tensor<1x64xf32>, %b = %w : tensor<64x64xf32>) -> tensor<1x64xf32>
        in sram tiled <grid = [1, 4, 1], cores = [0, 1, 2, 3], steps = [1, 1, 1], order = [0, 1, 2]> keeps [1] {
      %0 = dataflow.matmul %a, %b : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
      manycore.yield %0 : tensor<1x64xf32>
    }
    %last = manycore.task @last(%a = %third : tensor<1x64xf32>, %b = %w : tensor<64x64xf32>) -> tensor<1x64xf32>
        in dram tiled <grid = [1, 2, 1], cores = [0, 1], steps = [1, 1, 1], order = [0, 1, 2]> keeps [1] {
      %0 = dataflow.matmul %a, %b : (tensor<1x64xf32>, tensor<64x64xf32>) -> tensor<1x64xf32>
      manycore.yield %0 : tensor<1x64xf32>
    }
    func.return %last : tensor<1x64xf32>
  }
}
