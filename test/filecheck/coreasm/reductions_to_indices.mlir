// Where the greatest and the least element are.

// RUN: meshloom-opt %s -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p coreasm-unpack | meshloom-opt -p coreasm-pack -t 'interpret{inputs=iota}' | filecheck %s

module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.tensor input "x" f32 [12] dram 0x0 bytes 48 host 0x0
  coreasm.tensor output "y" i64 [2, 4] dram 0x40 bytes 64 host 0x40
  coreasm.program @main {
    .desc [4] [8]
    .desc [8] [8]
    // x = -3 -2 -1, 0 1 2, 3 -3 -2, -1 0 1, reduced along its rows.
    .desc [4, 3] [12, 4]
    .desc [12] [4]
    load f32 [0x0, d3], dram[0x0, d3] signal(vpu)
    // CHECK: y: {{.*\[\[ *}}2, 2, 0, 2],
    reduce.argmax f32 -> i64 [0x100, d0], [0x0, d2] reduce(1) wait(load)
    // CHECK-NEXT: [0, 0, 1, 0]]
    reduce.argmin f32 -> i64 [0x120, d0], [0x0, d2] reduce(1) signal(store)
    store i64 dram[0x40, d1], [0x100, d1] wait(vpu)
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
    ctl.h2d dram = 0x0, host = 0x0 tag(0) bytes(48)
    ctl.wait tag(0)
    ctl.launch launch(0)
    ctl.join launch(0)
    ctl.d2h dram = 0x40, host = 0x40 tag(1) bytes(64)
    ctl.wait tag(1)
    ctl.halt
  }
}
