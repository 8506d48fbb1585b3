// A loop whose count is an input, and which ends as well when its value is below 1: packed, unpacked and executed.

// RUN: meshloom-opt %s | filecheck %s
// RUN: meshloom-opt %s -p coreasm-unpack | filecheck %s --check-prefix UNPACKED
// RUN: meshloom-opt %s -p coreasm-unpack,coreasm-pack | filecheck %s
// RUN: meshloom-opt %s -t 'emulate{inputs=iota cycles=true}' | filecheck %s --check-prefix NONE
// RUN: meshloom-opt %s -t 'emulate{inputs=random cycles=true}' | filecheck %s --check-prefix SIX

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.tensor input "n" i64 [] dram 0x0 bytes 8 host 0x0
  coreasm.tensor input "x" f32 [4] dram 0x40 bytes 16 host 0x8
  coreasm.tensor output "y" f32 [4] dram 0x80 bytes 16 host 0x18
  // CHECK:      loop.r most = 9 r1 {  // 3
  // CHECK-NEXT:   add f32 [0x40, d1], [0x40, d1], 2.0  // 4
  // CHECK-NEXT:   lt f32 -> bool [0x80, d2], [0x40, d0], 100.0  // 5
  // CHECK-NEXT:   lr bool [0x80, d2] r2  // 6
  // CHECK-NEXT:   leave r2  // 7
  // CHECK-NEXT: }
  // UNPACKED:      coreasm.lr i64 [0x0, d3] r1
  // UNPACKED-NEXT: coreasm.loop.r most = 9 r1 {
  // UNPACKED:        coreasm.leave r2
  // UNPACKED-NEXT: }
  // UNPACKED-NEXT: coreasm.drain
  coreasm.program @main {
    .desc [1] [4]
    .desc [4] [4]
    .desc [1] [1]
    .desc [1] [8]
    load i64 [0x0, d3], dram[0x0, d3]
    load f32 [0x40, d1], dram[0x40, d1]
    lr i64 [0x0, d3] r1
    loop.r most = 9 r1 {
      add f32 [0x40, d1], [0x40, d1], 2.0
      lt f32 -> bool [0x80, d2], [0x40, d0], 100.0
      lr bool [0x80, d2] r2
      leave r2
    }
    drain
    store f32 dram[0x80, d1], [0x40, d1]
    halt
  }
  coreasm.program @idle {
    halt
  }
  coreasm.launch {
    .run "main" cores 0
    .run "idle" cores 1 to 3
  }
  coreasm.controller {
    ctl.h2d dram = 0x0, host = 0x0 tag(0) bytes(8)
    ctl.h2d dram = 0x40, host = 0x8 tag(0) bytes(16)
    ctl.wait tag(0)
    ctl.launch launch(0)
    ctl.join launch(0)
    ctl.d2h dram = 0x80, host = 0x18 tag(1) bytes(16)
    ctl.wait tag(1)
    ctl.halt
  }
}

// Of no steps and of six.
// NONE: y: tensor<4xf32> = [-3., -2., -1.,  0.]
// NONE-NEXT: cycles: 223
// SIX: y: tensor<4xf32> = [11.867895, 12.640423, 12.1049  , 11.464331]
// SIX-NEXT: cycles: 301
