// Transfers of a launch, in all of their forms: ahead of the task and in it, of one read and of several, of a step, of one
// counted from the step where it stands, and of all steps; shared by groups of cores.
// RUN: meshloom-opt %s | meshloom-opt | filecheck %s
// RUN: meshloom-opt %s --print-op-generic | meshloom-opt | filecheck %s

// CHECK: memory.load %x to %h0 for @first[0] step 0 {note = "ahead"} : !memory.buffer<8x8xf32, dram> to !memory.buffer<4x8xf32, sram>
// CHECK: } begin {
// CHECK-NEXT: memory.load %w to %w0, %w1 for @"task 2"[2] step 0 multicast 2 : !memory.buffer<16x8xf32, dram> to !memory.buffer<4x8xf32, sram>, !memory.buffer<4x8xf32, sram>
// CHECK-NEXT: memory.load %w to %w0 for @"task 2"[2] all : !memory.buffer<16x8xf32, dram> to !memory.buffer<4x8xf32, sram>
// CHECK-NEXT: memory.gather %h, %h to %g0, %g1 for @"task 2"[0, 1] step 0 : !memory.buffer<4x8xf32, sram>, !memory.buffer<4x8xf32, sram> to !memory.buffer<8x8xf32, sram>, !memory.buffer<8x8xf32, sram>
// CHECK-NEXT: } steps {
// CHECK-NEXT: memory.gather %h, %h to %g0, %g1 for @"task 2"[0, 1] step +1 : !memory.buffer<4x8xf32, sram>, !memory.buffer<4x8xf32, sram> to !memory.buffer<8x8xf32, sram>, !memory.buffer<8x8xf32, sram>
// CHECK-NEXT: memory.load %w to %w0, %w1 for @"task 2"[2] step +1 : !memory.buffer<16x8xf32, dram> to !memory.buffer<4x8xf32, sram>, !memory.buffer<4x8xf32, sram>
// CHECK-NEXT: manycore.compute pipelined {note = "x"}
// CHECK-NEXT: memory.store %s0, %s1 to %y : !memory.buffer<4x8xf32, sram>, !memory.buffer<4x8xf32, sram> to !memory.buffer<16x8xf32, dram>
// CHECK-NEXT: } last {
// CHECK-NEXT: manycore.compute
// CHECK-NEXT: memory.store %s0, %s1 to %y
func.func @main(%x: !memory.buffer<8x8xf32, dram>, %w: !memory.buffer<16x8xf32, dram>, %y: !memory.buffer<16x8xf32, dram>) {
  %t = manycore.launch @all {
    %h = memory.alloc : !memory.buffer<4x8xf32, sram>
    %h0 = memory.alloc : !memory.buffer<4x8xf32, sram>
    %g0 = memory.alloc : !memory.buffer<8x8xf32, sram>
    %g1 = memory.alloc : !memory.buffer<8x8xf32, sram>
    %w0 = memory.alloc : !memory.buffer<4x8xf32, sram>
    %w1 = memory.alloc : !memory.buffer<4x8xf32, sram>
    %s0 = memory.alloc : !memory.buffer<4x8xf32, sram>
    %s1 = memory.alloc : !memory.buffer<4x8xf32, sram>
    memory.load %x to %h0 for @first[0] step 0 {note = "ahead"} : !memory.buffer<8x8xf32, dram> to !memory.buffer<4x8xf32, sram>
    manycore.execute @first(%a = %x : !memory.buffer<8x8xf32, dram> as tensor<8x8xf32>)
        into %h : !memory.buffer<4x8xf32, sram> reads(%h0 : !memory.buffer<4x8xf32, sram>) slots [1] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [1, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x8xf32>) -> tensor<8x8xf32>
      manycore.yield %0 : tensor<8x8xf32>
    } last {
      manycore.compute
    }
    manycore.execute @"task 2"(%a = %h : !memory.buffer<4x8xf32, sram> as tensor<8x8xf32>, %b = %w : !memory.buffer<16x8xf32, dram> as tensor<16x8xf32>)
        into %y : !memory.buffer<16x8xf32, dram>
        reads(%g0 : !memory.buffer<8x8xf32, sram>, %g1 : !memory.buffer<8x8xf32, sram>, %w0 : !memory.buffer<4x8xf32, sram>, %w1 : !memory.buffer<4x8xf32, sram>)
        staging(%s0 : !memory.buffer<4x8xf32, sram>, %s1 : !memory.buffer<4x8xf32, sram>) slots [1, 1, 2] uses [0, 1, 2] writes [0, 0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.concat %a, %a axis 0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
      %1 = dataflow.add %0, %b : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
      manycore.yield %1 : tensor<16x8xf32>
    } begin {
      memory.load %w to %w0, %w1 for @"task 2"[2] step 0 multicast 2 : !memory.buffer<16x8xf32, dram> to !memory.buffer<4x8xf32, sram>, !memory.buffer<4x8xf32, sram>
      memory.load %w to %w0 for @"task 2"[2] all : !memory.buffer<16x8xf32, dram> to !memory.buffer<4x8xf32, sram>
      memory.gather %h, %h to %g0, %g1 for @"task 2"[0, 1] step 0 : !memory.buffer<4x8xf32, sram>, !memory.buffer<4x8xf32, sram> to !memory.buffer<8x8xf32, sram>, !memory.buffer<8x8xf32, sram>
    } steps {
      memory.gather %h, %h to %g0, %g1 for @"task 2"[0, 1] step +1 : !memory.buffer<4x8xf32, sram>, !memory.buffer<4x8xf32, sram> to !memory.buffer<8x8xf32, sram>, !memory.buffer<8x8xf32, sram>
      memory.load %w to %w0, %w1 for @"task 2"[2] step +1 : !memory.buffer<16x8xf32, dram> to !memory.buffer<4x8xf32, sram>, !memory.buffer<4x8xf32, sram>
      manycore.compute pipelined {note = "x"}
      memory.store %s0, %s1 to %y : !memory.buffer<4x8xf32, sram>, !memory.buffer<4x8xf32, sram> to !memory.buffer<16x8xf32, dram>
    } last {
      manycore.compute
      memory.store %s0, %s1 to %y : !memory.buffer<4x8xf32, sram>, !memory.buffer<4x8xf32, sram> to !memory.buffer<16x8xf32, dram>
    }
  }
  memory.wait %t
  func.return
}
