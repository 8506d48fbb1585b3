// Where a task's constants are loaded is written on it: before the task (0), or during the last step of an earlier one,
// those of the first step or of several, which then have a buffer each.

// RUN: meshloom-opt %s -p manycore-to-memory | filecheck %s
// RUN: meshloom-opt %s -p manycore-to-memory --check-semantics | filecheck %s
// RUN: sed 's/prefetch 1 steps 2/prefetch 0/' %s > %t.mlir
// RUN: meshloom-opt %t.mlir -p manycore-to-memory | filecheck %s --check-prefix NONE

// CHECK:      manycore.execute @first(
// CHECK:      } last {
// CHECK-NEXT:   memory.load %{{.*}} to %[[B0:.+]], %[[B1:.+]] for @second[1] step 0 multicast 2 :
// CHECK-NEXT:   memory.load %{{.*}} to %[[B0]], %[[B1]] for @second[1] step 1 multicast 2 :
// CHECK-NEXT:   manycore.compute
// CHECK:      manycore.execute @second(
// CHECK:      } steps {
// CHECK:        memory.load %{{.*}} to %[[B0]], %[[B1]] for @second[1] step +1 multicast 2 :

// NONE:      manycore.execute @first(
// NONE-NOT:  for @second
// NONE:      memory.free
// NONE:      memory.load %{{.*}} for @second[1] step 0 multicast 2 :
// NONE-NEXT: manycore.execute @second(
builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: tensor<4x8xf32>) -> tensor<4x256xf32> {
    %w = dataflow.constant dense<0.5> : tensor<8x256xf32>
    %first = manycore.task @first(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32>
        in dram tiled <grid = [4, 1], cores = [0, 1, 2, 3], steps = [1, 1], order = [0, 1]> prefetch 0 {
      %0 = dataflow.neg %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
      manycore.yield %0 : tensor<4x8xf32>
    }
    %second = manycore.task @second(%a = %first : tensor<4x8xf32>, %b = %w : tensor<8x256xf32>) -> tensor<4x256xf32>
        in dram tiled <grid = [2, 1, 1], cores = [0, 1], steps = [1, 4, 1], order = [1, 0, 2]> prefetch 1 steps 2 {
      %0 = dataflow.matmul %a, %b : (tensor<4x8xf32>, tensor<8x256xf32>) -> tensor<4x256xf32>
      manycore.yield %0 : tensor<4x256xf32>
    }
    func.return %second : tensor<4x256xf32>
  }
}
