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

// CHECK: expected equal shapes and element types
%0, %1 = "test.op"() : () -> (!memory.buffer<4xf32, dram>, !memory.buffer<2x2xf32, sram>)
memory.load %0 to %1 : !memory.buffer<4xf32, dram> to !memory.buffer<2x2xf32, sram>

// -----

// CHECK: copies from sram to dram: expected dram to sram
%0, %1 = "test.op"() : () -> (!memory.buffer<4xf32, dram>, !memory.buffer<4xf32, sram>)
memory.load %1 to %0 : !memory.buffer<4xf32, sram> to !memory.buffer<4xf32, dram>

// -----

// CHECK: copies from dram to sram: expected sram to sram or dram to dram or host to host
%0, %1 = "test.op"() : () -> (!memory.buffer<4xf32, dram>, !memory.buffer<4xf32, sram>)
memory.copy %0 to %1 : !memory.buffer<4xf32, dram> to !memory.buffer<4xf32, sram>
