// Comparisons and tests on the vector unit.

// RUN: meshloom-opt %s -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p coreasm-unpack | meshloom-opt -p coreasm-pack -t 'interpret{inputs=iota}' | filecheck %s

module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.tensor input "x" f32 [4] dram 0x0 bytes 16 host 0x0
  coreasm.tensor output "y" bool [8, 4] dram 0x40 bytes 32 host 0x40
  coreasm.program @main {
    .desc [4] [4]
    .desc [32] [1]
    .desc [4] [1]
    load f32 [0x0, d0], dram[0x0, d0] signal(vpu)
    // The operands: x = -3, -2, -1, 0; 1 / x, of which the last is infinite; log x, of which only the last is a number or infinite.
    rcp f32 [0x40, d0], [0x0, d0] wait(load)
    log f32 [0x80, d0], [0x0, d0]
    // CHECK: y: {{.*\[\[ *}}False, False,  True, False],
    eq f32 -> bool [0x100, d2], [0x0, d0], -1.0
    // CHECK-NEXT: [ True,  True, False,  True],
    ne f32 -> bool [0x104, d2], [0x0, d0], -1.0
    // CHECK-NEXT: [ True,  True, False, False],
    lt f32 -> bool [0x108, d2], [0x0, d0], -1.0
    // CHECK-NEXT: [ True,  True,  True, False],
    le f32 -> bool [0x10c, d2], [0x0, d0], -1.0
    // CHECK-NEXT: [False, False, False,  True],
    gt f32 -> bool [0x110, d2], [0x0, d0], -1.0
    // CHECK-NEXT: [False, False,  True,  True],
    ge f32 -> bool [0x114, d2], [0x0, d0], -1.0
    // CHECK-NEXT: [False, False, False,  True],
    isinf f32 -> bool [0x118, d2], [0x40, d0]
    // CHECK-NEXT: [ True,  True,  True, False]]
    isnan f32 -> bool [0x11c, d2], [0x80, d0] signal(store)
    store bool dram[0x40, d1], [0x100, d1] wait(vpu)
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
    ctl.d2h dram = 0x40, host = 0x40 tag(1) bytes(32)
    ctl.wait tag(1)
    ctl.halt
  }
}
