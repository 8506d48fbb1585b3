// RUN: meshloom-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// CHECK: element type index: expected one of f32
%0 = memory.alloc : !memory.buffer<4xindex, sram>

// -----

// CHECK: shape 4x?: expected static sizes
%0 = memory.alloc : !memory.buffer<4x?xf32, sram>

// -----

// CHECK: offset 6: expected a multiple of the 4 bytes of an element
%0 = memory.alloc : !memory.buffer<4xf32, sram, 6>

// -----

// CHECK: Expected `sram`, `dram`, or `host`
%0 = memory.alloc : !memory.buffer<4xf32, flash>

// -----

// CHECK: live = [3, 1] should be [first, last] with 0 <= first <= last
%0 = memory.alloc {live = array<i64: 3, 1>} : !memory.buffer<4xf32, sram>

// -----

// CHECK: the buffer ends at byte 65540: chip 'tiny' has 65536 bytes of sram
builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %0 = memory.alloc : !memory.buffer<4xf32, sram, 65524>
}

// -----

// CHECK: the buffer ends at byte 67108868: chip 'tiny' has 67108864 bytes of dram
builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %0 = "test.op"() : () -> tensor<2xf32>
  %1 = memory.hold %0 : tensor<2xf32> in !memory.buffer<2xf32, dram, 67108860>
}

// -----

// CHECK: copies !memory.buffer<4xf32, host> to !memory.buffer<2x2xf32, dram>: expected equal shapes and element types
%0, %1 = "test.op"() : () -> (!memory.buffer<4xf32, host>, !memory.buffer<2x2xf32, dram>)
%t = memory.copy %0 to %1 : !memory.buffer<4xf32, host> to !memory.buffer<2x2xf32, dram>

// -----

// CHECK: copies from dram to sram: expected host to dram or dram to host
%0, %1 = "test.op"() : () -> (!memory.buffer<4xf32, dram>, !memory.buffer<4xf32, sram>)
%t = memory.copy %0 to %1 : !memory.buffer<4xf32, dram> to !memory.buffer<4xf32, sram>

// -----

// CHECK: 2 sources go to 1 targets: expected one each
%0, %1 = "test.op"() : () -> (!memory.buffer<4xf32, dram>, !memory.buffer<4xf32, host>)
%t = memory.copy %0, %0 to %1 : !memory.buffer<4xf32, dram>, !memory.buffer<4xf32, dram> to !memory.buffer<4xf32, host>

// -----

// CHECK: holds tensor<4xf32> in !memory.buffer<2x2xf32, dram>: expected equal shapes and element types
%0 = "test.op"() : () -> tensor<4xf32>
%1 = memory.hold %0 : tensor<4xf32> in !memory.buffer<2x2xf32, dram>

// -----

// CHECK: holds 2 tensors in !memory.buffer<32xui8, dram>: expected 128 bytes (xui8)
%0 = "test.op"() : () -> tensor<4xf32>
%1 = memory.hold %0, %0 : tensor<4xf32>, tensor<4xf32> in !memory.buffer<32xui8, dram>

// -----

// CHECK: !memory.buffer<4xf32, dram, 64> seen as !memory.buffer<2xf32, dram, 76>: expected memory of the first
%0 = "test.op"() : () -> !memory.buffer<4xf32, dram, 64>
%1 = memory.view %0 : !memory.buffer<4xf32, dram, 64> as !memory.buffer<2xf32, dram, 76>

// -----

// CHECK: !memory.buffer<4xf32, dram, 64> seen as !memory.buffer<4xf32, sram, 64>: expected memory of the first
%0 = "test.op"() : () -> !memory.buffer<4xf32, dram, 64>
%1 = memory.view %0 : !memory.buffer<4xf32, dram, 64> as !memory.buffer<4xf32, sram, 64>

// -----

// CHECK: !memory.buffer<4xf32, dram, 64> lies in dram: expected one in sram
%0 = "test.op"() : () -> !memory.buffer<4xf32, dram, 64>
memory.load %0 to %0 for @t[0] step 0 : !memory.buffer<4xf32, dram, 64> to !memory.buffer<4xf32, dram, 64>

// -----

// CHECK: step 0: expected 1 or more
%0, %1 = "test.op"() : () -> (!memory.buffer<4xf32, dram>, !memory.buffer<4xf32, sram>)
memory.load %0 to %1 for @t[0] step +0 : !memory.buffer<4xf32, dram> to !memory.buffer<4xf32, sram>

// -----

// CHECK: reads [0, 1] come from 1 buffers: expected one each
%0, %1 = "test.op"() : () -> (!memory.buffer<4xf32, dram>, !memory.buffer<4xf32, sram>)
memory.load %0 to %1 for @t[0, 1] step 0 : !memory.buffer<4xf32, dram> to !memory.buffer<4xf32, sram>

// -----

// CHECK: expected the numbers of one read or more
%0, %1 = "test.op"() : () -> (!memory.buffer<4xf32, dram>, !memory.buffer<4xf32, sram>)
memory.load %0 to %1 for @t[-1] step 0 : !memory.buffer<4xf32, dram> to !memory.buffer<4xf32, sram>

// -----

// CHECK: multicast 1: expected groups of 2 cores or more
%0, %1 = "test.op"() : () -> (!memory.buffer<4xf32, dram>, !memory.buffer<4xf32, sram>)
memory.load %0 to %1 for @t[0] step 0 multicast 1 : !memory.buffer<4xf32, dram> to !memory.buffer<4xf32, sram>

// -----

// CHECK: 1 sources go to 2 targets: expected one each
%0 = "test.op"() : () -> !memory.buffer<4xf32, sram>
memory.gather %0 to %0, %0 for @t[0] step 0 : !memory.buffer<4xf32, sram> to !memory.buffer<4xf32, sram>, !memory.buffer<4xf32, sram>

// -----

// CHECK: a gather is for one step
%0 = "test.op"() : () -> !memory.buffer<4xf32, sram>
memory.gather %0 to %0 for @t[0] all : !memory.buffer<4xf32, sram> to !memory.buffer<4xf32, sram>

// -----

// CHECK: !memory.buffer<4xf32, sram> lies in sram: expected one in dram
%0 = "test.op"() : () -> !memory.buffer<4xf32, sram>
memory.store %0 to %0 : !memory.buffer<4xf32, sram> to !memory.buffer<4xf32, sram>

// -----

// CHECK: stands in 'builtin.module': expected manycore.launch, manycore.repeat or manycore.execute
%0, %1 = "test.op"() : () -> (!memory.buffer<4xf32, dram>, !memory.buffer<4xf32, sram>)
memory.load %0 to %1 for @t[0] all : !memory.buffer<4xf32, dram> to !memory.buffer<4xf32, sram>

// -----

// CHECK: stands in 'func.func': expected manycore.execute
func.func @main(%0: !memory.buffer<4xf32, sram>, %1: !memory.buffer<4xf32, dram>) {
  memory.store %0 to %1 : !memory.buffer<4xf32, sram> to !memory.buffer<4xf32, dram>
  func.return
}
