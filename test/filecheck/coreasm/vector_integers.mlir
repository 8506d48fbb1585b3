// Bits and integer division on the vector unit.

// RUN: meshloom-opt %s -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p coreasm-unpack | meshloom-opt -p coreasm-pack -t 'interpret{inputs=iota}' | filecheck %s

module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.tensor input "x" i32 [4] dram 0x0 bytes 16 host 0x0
  coreasm.tensor output "y" i32 [11, 4] dram 0x40 bytes 176 host 0x40
  coreasm.program @main {
    .desc [4] [4]
    .desc [44] [4]
    load i32 [0x0, d0], dram[0x0, d0] signal(vpu)
    // The operands: x - 3 = -3, -2, -1, 0; x + 1 = 1, 2, 3, 4.
    add i32 [0x40, d0], [0x0, d0], 1 wait(load)
    sub i32 [0x0, d0], [0x0, d0], 3
    // CHECK: y: {{.*\[\[ *}}4,  6,  6,  0],
    and i32 [0x100, d0], [0x0, d0], 6
    // CHECK-NEXT: [-1, -2, -1,  6],
    or i32 [0x110, d0], [0x0, d0], 6
    // CHECK-NEXT: [-5, -8, -7,  6],
    xor i32 [0x120, d0], [0x0, d0], 6
    // CHECK-NEXT: [ 2,  1,  0, -1],
    not i32 [0x130, d0], [0x0, d0]
    // CHECK-NEXT: [-6, -8, -8,  0],
    shl i32 [0x140, d0], [0x0, d0], [0x40, d0]
    // CHECK-NEXT: [-2, -1, -1,  0],
    shr i32 [0x150, d0], [0x0, d0], 1
    // CHECK-NEXT: [-1, -1,  0,  0],
    div i32 [0x160, d0], [0x0, d0], 2
    // CHECK-NEXT: [ 0,  0,  0,  0],
    div i32 [0x170, d0], [0x0, d0], 0
    // CHECK-NEXT: [ 1,  0,  1,  0],
    mod i32 [0x180, d0], [0x0, d0], 2
    // CHECK-NEXT: [-1,  0, -1,  0],
    fmod i32 [0x190, d0], [0x0, d0], 2
    // CHECK-NEXT: [ 0,  0,  0,  0]]
    mod i32 [0x1a0, d0], [0x0, d0], 0 signal(store)
    store i32 dram[0x40, d1], [0x100, d1] wait(vpu)
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
    ctl.h2d dram = 0x0, host = 0x0 tag(0) bytes(16)
    ctl.wait tag(0)
    ctl.launch launch(0)
    ctl.join launch(0)
    ctl.d2h dram = 0x40, host = 0x40 tag(1) bytes(176)
    ctl.wait tag(1)
    ctl.halt
  }
}
