// Dot products of floats and bytes: of whole bytes, and of the integers in their low or high 4 bits.

// RUN: meshloom-opt %s -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p coreasm-unpack | meshloom-opt -p coreasm-pack -t 'interpret{inputs=iota}' | filecheck %s

// The floats are 1, 2, 3; the bytes 0x21, 0x32, 0x43: 33, 50, 67, low halves 1, 2, 3, high halves 2, 3, 4.
// Sums of products: 33 + 100 + 201, 1 + 4 + 9, 2 + 6 + 12; accumulating ones begin with 100.

module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.tensor output "y" f32 [6] dram 0x0 bytes 24 host 0x0
  coreasm.program @main {
    .desc [3] [4]
    .desc [3] [1]
    .desc [1] [4]
    .desc [6] [4]
    iota f32 [0x0, d0], start = 1, step = 1
    iota i8 [0x40, d1], start = 33, step = 17
    fill f32 [0x100, d3], 100.0 signal(vpu)
    // CHECK: y: {{.*}} = {{\[}}334.,  14., 20., 434., 114., 120.]
    dot.byte f32 -> i8 [0x100, d2], [0x0, d0], [0x40, d1] reduce(1) wait(dau)
    dot.low4 f32 -> i8 [0x104, d2], [0x0, d0], [0x40, d1] reduce(1)
    dot.high4 f32 -> i8 [0x108, d2], [0x0, d0], [0x40, d1] reduce(1)
    dot.byte.acc f32 -> i8 [0x10c, d2], [0x0, d0], [0x40, d1] reduce(1)
    dot.low4.acc f32 -> i8 [0x110, d2], [0x0, d0], [0x40, d1] reduce(1)
    dot.high4.acc f32 -> i8 [0x114, d2], [0x0, d0], [0x40, d1] reduce(1) signal(store)
    store f32 dram[0x0, d3], [0x100, d3] wait(vpu)
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
    ctl.launch launch(0)
    ctl.join launch(0)
    ctl.d2h dram = 0x0, host = 0x0 tag(0) bytes(24)
    ctl.wait tag(0)
    ctl.halt
  }
}
