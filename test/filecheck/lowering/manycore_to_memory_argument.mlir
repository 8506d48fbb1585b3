// RUN: meshloom-opt %s -p manycore-to-memory | filecheck %s
// RUN: meshloom-opt %s -p manycore-to-memory --check-semantics

// An argument that is a result too, as it is and in another shape: its buffer is returned, and a view of it.

// CHECK:      func.func @main(%x: !memory.buffer<2x3xf32, dram, [[AT:[0-9]+]]>)
// CHECK:      [[VIEW:%.+]] = memory.view %x : !memory.buffer<2x3xf32, dram, [[AT]]> as !memory.buffer<6xf32, dram, [[AT]]>
// CHECK-NEXT: func.return %neg, %x, [[VIEW]]
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
