// RUN: meshloom-opt %s -p manycore-to-memory | filecheck %s
// RUN: meshloom-opt %s -p manycore-to-memory --check-semantics

// An argument that is a result too, as it is and in another shape: its buffer in DRAM is copied to each of their places.

// CHECK:      func.func @main(%[[X:.+]]: !memory.buffer<2x3xf32, host, 0>
// CHECK:      %[[D:.+]] = memory.alloc : !memory.buffer<2x3xf32, dram, 0>
// CHECK-NEXT: memory.copy %[[X]] to %[[D]] :
// CHECK:      %[[VIEW:.+]] = memory.view %[[FLAT:.+]] : !memory.buffer<6xf32, host, [[AT:[0-9]+]]> as !memory.buffer<2x3xf32, host, [[AT]]>
// CHECK-NEXT: memory.copy %neg, %[[D]], %[[D]] to %[[A:.+]], %[[B:.+]], %[[VIEW]] :
// CHECK:      func.return %[[A]], %[[B]], %[[FLAT]]
builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<6xf32>) {
    %neg = manycore.task @neg(%a = %x : tensor<2x3xf32>) -> tensor<2x3xf32>
        in dram tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
      manycore.yield %0 : tensor<2x3xf32>
    }
    %flat = dataflow.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
    func.return %neg, %x, %flat : tensor<2x3xf32>, tensor<2x3xf32>, tensor<6xf32>
  }
}
