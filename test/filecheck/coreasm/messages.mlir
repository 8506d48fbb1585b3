// Cores exchange data and semaphores: core 0 sends twice to core 1, which gives a credit before.

// RUN: meshloom-opt %s -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p coreasm-unpack | meshloom-opt -p coreasm-pack -t 'interpret{inputs=iota}' | filecheck %s

module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.tensor input "x" f32 [4] dram 0x0 bytes 16 host 0x0
  coreasm.tensor output "y" f32 [3, 4] dram 0x40 bytes 48 host 0x40
  coreasm.sets {
    .set 0
    .set 1
  }
  coreasm.program @sender {
    .desc [4] [4]
    load f32 [0x0, d0], dram[0x0, d0] signal(send)
    // The credit of core 1, then both ways of sending.
    send.wait n = 1 sem(1)
    put f32 remote[0x0, d0], [0x0, d0] sem(0) set(1) wait(load)
    put.z f32 remote[0x10, d0], [0x0, d0], bytes = 20 sem(0) set(1)
    signal sem(2) set(1)
    halt
  }
  coreasm.program @receiver {
    .desc [4] [4]
    .desc [12] [4]
    ready sem(1) set(0)
    wait n = 2 sem(0)
    wait n = 1 sem(2) signal(vpu)
    // CHECK: y: {{.*\[\[ *}}-3., -2., -1., 0.],
    // CHECK-NEXT: {{\[ *}}-3., -2., -1., 0.],
    // CHECK-NEXT: {{\[ *}}-6., -4., -2., 0.]]
    add f32 [0x20, d0], [0x0, d0], [0x10, d0] wait(recv) signal(store)
    store f32 dram[0x40, d1], [0x0, d1] wait(vpu)
    halt
  }
  coreasm.program @idle {
    halt
  }
  coreasm.launch {
    .run "sender" cores 0
    .run "receiver" cores 1
    .run "idle" cores 2, 3
  }
  coreasm.controller {
    ctl.h2d dram = 0x0, host = 0x0 tag(0) bytes(16)
    ctl.wait tag(0)
    ctl.launch launch(0)
    ctl.join launch(0)
    ctl.d2h dram = 0x40, host = 0x40 tag(1) bytes(48)
    ctl.wait tag(1)
    ctl.halt
  }
}
