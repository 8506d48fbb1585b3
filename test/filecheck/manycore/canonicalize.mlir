// RUN: meshloom-opt %s -p canonicalize | filecheck %s
// RUN: meshloom-opt %s -p canonicalize,cse | filecheck %s --check-prefix BODY

// An operand given twice is given once, an unused one and an unused result go.
// CHECK-LABEL: @operands
// CHECK:       manycore.task @t(%a = %x : tensor<4xf32>) -> tensor<4xf32> in sram tiled <grid = [2], cores = [0, 1], steps = [1], order = [0]> {
// CHECK-NEXT:    %0 = dataflow.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    %1 = dataflow.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    manycore.yield %1 : tensor<4xf32>
func.func @operands(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %s, %e = manycore.task @t(%a = %x : tensor<4xf32>, %b = %x : tensor<4xf32>, %c = %y : tensor<4xf32>)
      -> (tensor<4xf32>, tensor<4xf32>) in sram tiled <grid = [2], cores = [0, 1], steps = [1], order = [0]> {
    %0 = dataflow.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = dataflow.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
    manycore.yield %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
  func.return %e : tensor<4xf32>
}

// CHECK-LABEL: @unused
// CHECK-NEXT:    func.return
func.func @unused(%x: tensor<4xf32>) {
  %0 = manycore.task @t(%a = %x : tensor<4xf32>) -> tensor<4xf32>
      tiled <grid = [2], cores = [0, 1], steps = [1], order = [0]> {
    %1 = dataflow.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    manycore.yield %1 : tensor<4xf32>
  }
  func.return
}

// What is kept in the cores stays so where operands change places.
// CHECK-LABEL: @kept
// CHECK:       manycore.task @t(%b = %y : tensor<4xf32>, %c = %z : tensor<4xf32>) -> tensor<4xf32> tiled <grid = [2], cores = [0, 1], steps = [2], order = [0]> keeps [1] {
func.func @kept(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %0 = manycore.task @t(%a = %x : tensor<4xf32>, %b = %y : tensor<4xf32>, %c = %z : tensor<4xf32>) -> tensor<4xf32>
      tiled <grid = [2], cores = [0, 1], steps = [2], order = [0]> keeps [0, 2] {
    %1 = dataflow.add %b, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    manycore.yield %1 : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}

// What is prefetched stays so.
// CHECK-LABEL: @prefetched
// CHECK:       manycore.task @t(%a = %x : tensor<4xf32>) -> tensor<4xf32> tiled <grid = [2], cores = [0, 1], steps = [2], order = [0]> prefetch 3 steps 2 {
func.func @prefetched(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = manycore.task @t(%a = %x : tensor<4xf32>, %b = %x : tensor<4xf32>) -> tensor<4xf32>
      tiled <grid = [2], cores = [0, 1], steps = [2], order = [0]> prefetch 3 steps 2 {
    %1 = dataflow.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    manycore.yield %1 : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}

// The tiling belongs to the first operation of a body: all stay, also those that only copy or have constant results, and
// those that undo each other.
// CHECK-LABEL: @roots
// CHECK:         dataflow.concat %a axis 0
// CHECK:         dataflow.iota axis 1 : tensor<2x3xi64>
// CHECK:         [[N:%.*]] = dataflow.neg
// CHECK-NEXT:    [[M:%.*]] = dataflow.neg [[N]]
// CHECK-NEXT:    manycore.yield [[M]]
// CHECK:         dataflow.broadcast %a : (tensor<3xf32>) -> tensor<1x3xf32>
func.func @roots(%x: tensor<4x3xf32>, %y: tensor<3xf32>)
    -> (tensor<4x3xf32>, tensor<2x3xi64>, tensor<4x3xf32>, tensor<1x3xf32>) {
  %0 = manycore.task @concat(%a = %x : tensor<4x3xf32>) -> tensor<4x3xf32>
      tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 1]> {
    %4 = dataflow.concat %a axis 0 : (tensor<4x3xf32>) -> tensor<4x3xf32>
    manycore.yield %4 : tensor<4x3xf32>
  }
  %1 = manycore.task @iota() -> tensor<2x3xi64>
      tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 1]> {
    %4 = dataflow.iota axis 1 : tensor<2x3xi64>
    manycore.yield %4 : tensor<2x3xi64>
  }
  %2 = manycore.task @neg(%a = %x : tensor<4x3xf32>) -> tensor<4x3xf32>
      tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 1]> {
    %4 = dataflow.neg %a : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %5 = dataflow.neg %4 : (tensor<4x3xf32>) -> tensor<4x3xf32>
    manycore.yield %5 : tensor<4x3xf32>
  }
  %3 = manycore.task @broadcast(%a = %y : tensor<3xf32>) -> tensor<1x3xf32>
      tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 1]> {
    %4 = dataflow.broadcast %a : (tensor<3xf32>) -> tensor<1x3xf32>
    manycore.yield %4 : tensor<1x3xf32>
  }
  func.return %0, %1, %2, %3 : tensor<4x3xf32>, tensor<2x3xi64>, tensor<4x3xf32>, tensor<1x3xf32>
}

// The lists of a task over buffers say where each operation of its body reads and writes: all stay.
// BODY-LABEL: @body
// BODY:         manycore.execute @two
// BODY-NEXT:      [[A:%.*]] = dataflow.neg
// BODY-NEXT:      [[B:%.*]] = dataflow.neg
// BODY-NEXT:      [[C:%.*]] = dataflow.add [[A]], [[B]]
// BODY-NEXT:      [[D:%.*]] = dataflow.neg [[C]]
// BODY-NEXT:      [[E:%.*]] = dataflow.neg [[D]]
// BODY-NEXT:      manycore.yield [[E]]
func.func @body(%x: !memory.buffer<8xf32, dram, 0>, %y: !memory.buffer<8xf32, dram, 64>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<4xf32, sram, 0>
    %p = memory.alloc : !memory.buffer<4xf32, sram, 64>
    %q = memory.alloc : !memory.buffer<4xf32, sram, 192>
    %s = memory.alloc : !memory.buffer<4xf32, sram, 128>
    manycore.execute @two(%a = %x : !memory.buffer<8xf32, dram, 0> as tensor<8xf32>)
        into %y : !memory.buffer<8xf32, dram, 64> reads(%r : !memory.buffer<4xf32, sram, 0>) staging(%s : !memory.buffer<4xf32, sram, 128>)
        temporaries(%p : !memory.buffer<4xf32, sram, 64>, %q : !memory.buffer<4xf32, sram, 192>) slots [1] uses [0, 0] writes [1, 2, 0, 0, 0]
        tiled <grid = [2], cores = [0, 1], steps = [1], order = [0]> {
      %0 = dataflow.neg %a : (tensor<8xf32>) -> tensor<8xf32>
      %1 = dataflow.neg %a : (tensor<8xf32>) -> tensor<8xf32>
      %2 = dataflow.add %0, %1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      %3 = dataflow.neg %2 : (tensor<8xf32>) -> tensor<8xf32>
      %4 = dataflow.neg %3 : (tensor<8xf32>) -> tensor<8xf32>
      manycore.yield %4 : tensor<8xf32>
    } begin {
      memory.load %x to %r for @two[0] step 0 : !memory.buffer<8xf32, dram, 0> to !memory.buffer<4xf32, sram, 0>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<4xf32, sram, 128> to !memory.buffer<8xf32, dram, 64>
    }
  }
  memory.wait %t
  func.return
}
