// RUN: meshloom-opt %s -p manycore-to-memory --check-semantics | filecheck %s

// Each operation of a task over buffers has a place for its result: those that nothing needs are left out.
// CHECK:      manycore.execute @neg{{.*}} slots [1] uses [0] writes [0] tiled
// CHECK-NEXT:   [[A:%.+]] = dataflow.neg %
// CHECK-NEXT:   manycore.yield [[A]]
builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = manycore.task @neg(%a = %x : tensor<8x4xf32>, %b = %y : tensor<8x4xf32>) -> tensor<8x4xf32> in dram
        tiled <grid = [4, 1], cores = [0, 1, 2, 3], steps = [1, 1], order = [0, 1]> {
      %1 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      %2 = dataflow.add %1, %b : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
      %3 = dataflow.exp %2 : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %1 : tensor<8x4xf32>
    }
    func.return %0 : tensor<8x4xf32>
  }
}
