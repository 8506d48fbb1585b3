// What connects, of two encoded tensors: connection data, their common part, and values where that connects.

// RUN: meshloom-opt %s -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p coreasm-unpack | meshloom-opt -p coreasm-pack -t 'interpret{inputs=iota}' | filecheck %s

// x: -3 -2 -1 0, 1 2 3 -3. x + 1: -2 -1 0 1, 2 3 4 -2.

module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.tensor input "x" f32 [2, 4] dram 0x0 bytes 32 host 0x0
  coreasm.tensor output "y" f32 [6, 4] dram 0x40 bytes 96 host 0x40
  coreasm.program @main {
    .desc [2, 4] [16, 4]
    // Two fibers of 4, groups of 1 element, a direct index, room for 8 entries; values of 4 bytes, then of 1 byte.
    .desc [2, 4, 1, 1, 8] [8, 0, 0, 0, 0]
    .desc [2, 4, 1, 1, 8] [8, 0, 0, 0, 0]
    .desc [24] [4]
    load f32 [0x0, d0], dram[0x0, d0] signal(vpu, map)
    add f32 [0x20, d0], [0x0, d0], 1.0 wait(load)
    mul f32 [0x40, d0], [0x0, d0], 10.0 signal(map)
    encode f32 [0x100, d1], [0x0, d0], 1.5, cycles = 4 wait(load, vpu)
    encode f32 [0x140, d1], [0x20, d0], 1.5, cycles = 4
    // CHECK: y: {{.*\[\[ *}}-3., -2., 0., 0.],
    // CHECK-NEXT: {{\[ *}}0., 2., 3., -3.],
    decode f32 [0x300, d0], [0x100, d1], cycles = 4
    // CHECK-NEXT: {{\[ *}}-2., 0., 0., 0.],
    // CHECK-NEXT: {{\[ *}}2., 3., 4., -2.],
    decode f32 [0x320, d0], [0x140, d1], cycles = 4
    connect f32 -> bool [0x180, d2], [0x100, d1], cycles = 4
    connect f32 -> bool [0x1c0, d2], [0x140, d1], cycles = 4
    combine bool [0x200, d2], [0x180, d2], [0x1c0, d2], cycles = 4
    compact f32 [0x240, d1], [0x40, d0], [0x200, d2], cycles = 4
    // 10 x where both connect.
    // CHECK-NEXT: {{\[ *}}-30., 0., 0., 0.],
    // CHECK-NEXT: {{\[ *}}0., 20., 30., -30.]]
    decode f32 [0x340, d0], [0x240, d1], cycles = 4 signal(store)
    store f32 dram[0x40, d3], [0x300, d3] wait(map)
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
    ctl.d2h dram = 0x40, host = 0x40 tag(1) bytes(96)
    ctl.wait tag(1)
    ctl.halt
  }
}
