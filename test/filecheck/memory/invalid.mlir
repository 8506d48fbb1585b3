// RUN: meshloom-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{element type index: expected one of f32}}
%0 = memory.alloc : !memory.buffer<4xindex, sram>

// -----

// expected-error@+1 {{shape 4x?: expected static sizes}}
%0 = memory.alloc : !memory.buffer<4x?xf32, sram>

// -----

// expected-error@+1 {{offset 6: expected a multiple of the 4 bytes of an element}}
%0 = memory.alloc : !memory.buffer<4xf32, sram, 6>

// -----

// expected-error@+1 {{Expected `sram`, `dram`, or `host`}}
%0 = memory.alloc : !memory.buffer<4xf32, flash>

// -----

// expected-error@+1 {{live = [3, 1] should be [first, last] with 0 <= first <= last}}
%0 = memory.alloc {live = array<i64: 3, 1>} : !memory.buffer<4xf32, sram>

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  // expected-error@+1 {{the buffer ends at byte 65540: chip 'tiny' has 65536 bytes of sram}}
  %0 = memory.alloc : !memory.buffer<4xf32, sram, 65524>
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %0 = "test.op"() : () -> tensor<2xf32>
  // expected-error@+1 {{the buffer ends at byte 67108868: chip 'tiny' has 67108864 bytes of dram}}
  %1 = memory.global %0 : tensor<2xf32> in !memory.buffer<2xf32, dram, 67108860>
}

// -----

%0, %1 = "test.op"() : () -> (!memory.buffer<4xf32, host>, !memory.buffer<2x2xf32, dram>)
// expected-error@+1 {{copies !memory.buffer<4xf32, host> to !memory.buffer<2x2xf32, dram>: expected equal shapes and element types}}
%t = memory.copy %0 to %1 : !memory.buffer<4xf32, host> to !memory.buffer<2x2xf32, dram>

// -----

%0, %1 = "test.op"() : () -> (!memory.buffer<4xf32, dram>, !memory.buffer<4xf32, sram>)
// expected-error@+1 {{copies from dram to sram: expected host to dram or dram to host}}
%t = memory.copy %0 to %1 : !memory.buffer<4xf32, dram> to !memory.buffer<4xf32, sram>

// -----

%0, %1 = "test.op"() : () -> (!memory.buffer<4xf32, dram>, !memory.buffer<4xf32, host>)
// expected-error@+1 {{2 sources go to 1 targets: expected one each}}
%t = memory.copy %0, %0 to %1 : !memory.buffer<4xf32, dram>, !memory.buffer<4xf32, dram> to !memory.buffer<4xf32, host>

// -----

%0 = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{holds tensor<4xf32> in !memory.buffer<2x2xf32, dram>: expected equal shapes and element types}}
%1 = memory.global %0 : tensor<4xf32> in !memory.buffer<2x2xf32, dram>

// -----

%0 = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{holds 2 tensors in !memory.buffer<32xui8, dram>: expected 128 bytes (xui8)}}
%1 = memory.global %0, %0 : tensor<4xf32>, tensor<4xf32> in !memory.buffer<32xui8, dram>

// -----

%0 = "test.op"() : () -> !memory.buffer<4xf32, dram, 64>
// expected-error@+1 {{!memory.buffer<4xf32, dram, 64> seen as !memory.buffer<2xf32, dram, 76>: expected the memory of the former}}
%1 = memory.view %0 : !memory.buffer<4xf32, dram, 64> as !memory.buffer<2xf32, dram, 76>

// -----

%0 = "test.op"() : () -> !memory.buffer<4xf32, dram, 64>
// expected-error@+1 {{!memory.buffer<4xf32, dram, 64> seen as !memory.buffer<4xf32, sram, 64>: expected the memory of the former}}
%1 = memory.view %0 : !memory.buffer<4xf32, dram, 64> as !memory.buffer<4xf32, sram, 64>

// -----

%0 = "test.op"() : () -> !memory.buffer<4xf32, dram, 64>
// expected-error@+1 {{!memory.buffer<4xf32, dram, 64> is in dram: expected one in sram}}
memory.load %0 to %0 for @t[0] step 0 : !memory.buffer<4xf32, dram, 64> to !memory.buffer<4xf32, dram, 64>

// -----

%0, %1 = "test.op"() : () -> (!memory.buffer<4xf32, dram>, !memory.buffer<4xf32, sram>)
// expected-error@+1 {{step 0: expected 1 or more}}
memory.load %0 to %1 for @t[0] step +0 : !memory.buffer<4xf32, dram> to !memory.buffer<4xf32, sram>

// -----

%0, %1 = "test.op"() : () -> (!memory.buffer<4xf32, dram>, !memory.buffer<4xf32, sram>)
// expected-error@+1 {{reads [0, 1] come from 1 buffers: expected one each}}
memory.load %0 to %1 for @t[0, 1] step 0 : !memory.buffer<4xf32, dram> to !memory.buffer<4xf32, sram>

// -----

%0, %1 = "test.op"() : () -> (!memory.buffer<4xf32, dram>, !memory.buffer<4xf32, sram>)
// expected-error@+1 {{expected the numbers of one read or more}}
memory.load %0 to %1 for @t[-1] step 0 : !memory.buffer<4xf32, dram> to !memory.buffer<4xf32, sram>

// -----

%0, %1 = "test.op"() : () -> (!memory.buffer<4xf32, dram>, !memory.buffer<4xf32, sram>)
// expected-error@+1 {{multicast 1: expected groups of 2 cores or more}}
memory.load %0 to %1 for @t[0] step 0 multicast 1 : !memory.buffer<4xf32, dram> to !memory.buffer<4xf32, sram>

// -----

%0 = "test.op"() : () -> !memory.buffer<4xf32, sram>
// expected-error@+1 {{1 sources go to 2 targets: expected one each}}
memory.gather %0 to %0, %0 for @t[0] step 0 : !memory.buffer<4xf32, sram> to !memory.buffer<4xf32, sram>, !memory.buffer<4xf32, sram>

// -----

%0 = "test.op"() : () -> !memory.buffer<4xf32, sram>
// expected-error@+1 {{a gather is for one step}}
memory.gather %0 to %0 for @t[0] all : !memory.buffer<4xf32, sram> to !memory.buffer<4xf32, sram>

// -----

%0 = "test.op"() : () -> !memory.buffer<4xf32, sram>
// expected-error@+1 {{!memory.buffer<4xf32, sram> is in sram: expected one in dram}}
memory.store %0 to %0 : !memory.buffer<4xf32, sram> to !memory.buffer<4xf32, sram>

// -----

%0, %1 = "test.op"() : () -> (!memory.buffer<4xf32, dram>, !memory.buffer<4xf32, sram>)
// expected-error@+1 {{is in 'builtin.module': expected manycore.launch, manycore.repeat or manycore.execute}}
memory.load %0 to %1 for @t[0] all : !memory.buffer<4xf32, dram> to !memory.buffer<4xf32, sram>

// -----

func.func @main(%0: !memory.buffer<4xf32, sram>, %1: !memory.buffer<4xf32, dram>) {
  // expected-error@+1 {{is in 'func.func': expected manycore.execute}}
  memory.store %0 to %1 : !memory.buffer<4xf32, sram> to !memory.buffer<4xf32, dram>
  func.return
}
