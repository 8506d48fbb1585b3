// Rows read and written at indices that are computed while the program runs.

// RUN: meshloom-opt %s -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p coreasm-unpack | meshloom-opt -p coreasm-pack -t 'interpret{inputs=iota}' | filecheck %s

// x has the rows -3 -2, -1 0, 1 2, 3 -3; the indices are 2 and 0.

module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.tensor input "x" f32 [4, 2] dram 0x0 bytes 32 host 0x0
  coreasm.tensor output "y" f32 [13, 2] dram 0x40 bytes 104 host 0x40
  coreasm.program @main {
    .desc [2, 2] [8, 4]
    .desc [3, 2] [8, 4]
    .desc [2] [4]
    .desc [6] [4]
    .desc [4, 2] [8, 4]
    .desc [26] [4]
    load f32 [0x0, d4], dram[0x0, d4] signal(dau)
    iota i32 [0x40, d2], start = 2, step = -2 signal(dau, load)
    fill f32 [0x100, d3], 10.0
    fill f32 [0x118, d3], 10.0
    fill f32 [0x130, d3], -2.0
    // The first two rows of x become rows 2 and 0; row 1 stays.
    // CHECK: y: {{.*\[\[ *}}-1., 0.],
    // CHECK-NEXT: {{\[ *}}10., 10.],
    // CHECK-NEXT: {{\[ *}}-3., -2.],
    scatter f32 -> i32 [0x100, d1], [0x0, d0], [0x40, d2] index(1) wait(vpu, load)
    // CHECK-NEXT: {{\[ *}}9., 10.],
    // CHECK-NEXT: {{\[ *}}10., 10.],
    // CHECK-NEXT: {{\[ *}}7., 8.],
    scatter.add f32 -> i32 [0x118, d1], [0x0, d0], [0x40, d2] index(1)
    // CHECK-NEXT: {{\[ *}}-1., 0.],
    // CHECK-NEXT: {{\[ *}}-2., -2.],
    // CHECK-NEXT: {{\[ *}}-2., -2.],
    scatter.max f32 -> i32 [0x130, d1], [0x0, d0], [0x40, d2] index(1)
    // Rows 2 and 0 of x, from SRAM and from DRAM.
    // CHECK-NEXT: {{\[ *}}1., 2.],
    // CHECK-NEXT: {{\[ *}}-3., -2.],
    gather f32 -> i32 [0x148, d0], [0x0, d4], [0x40, d2] index(1) signal(store)
    // CHECK-NEXT: {{\[ *}}1., 2.],
    // CHECK-NEXT: {{\[ *}}-3., -2.]]
    load.gather f32 -> i32 [0x158, d0], dram[0x0, d4], [0x40, d2] index(1) wait(vpu) signal(store)
    store f32 dram[0x40, d5], [0x100, d5] wait(dau, load)
    halt
  }
  coreasm.program @idle {
    halt
  }
  coreasm.launch {
    .run "main" cores 0
    .run "idle" cores 1, 2, 3
  }
  coreasm.controller {
    ctl.h2d dram = 0x0, host = 0x0 tag(0) bytes(32)
    ctl.wait tag(0)
    ctl.launch launch(0)
    ctl.join launch(0)
    ctl.d2h dram = 0x40, host = 0x40 tag(1) bytes(104)
    ctl.wait tag(1)
    ctl.halt
  }
}
