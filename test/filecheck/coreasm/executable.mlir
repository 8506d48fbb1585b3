// A whole executable, written by hand: y = 2 x + 1 on core 0. Printed, assembled in three ways, run, and edited.

// RUN: mkdir -p %t
// RUN: meshloom-opt %s | filecheck %s
// RUN: meshloom-opt %s --print-op-generic | meshloom-opt | filecheck %s
// RUN: meshloom-opt %s -t 'emulate{inputs=iota}' | filecheck %s --check-prefix RUNS
// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s --check-prefix RUNS
// RUN: meshloom-as %s -o %t/as.mlx
// RUN: meshloom-compile %s -q -o %t/compiled.mlx
// RUN: diff %t/as.mlx %t/compiled.mlx
// RUN: meshloom-objdump %t/as.mlx --mlir | filecheck %s --check-prefix DUMP
// RUN: meshloom-objdump %t/as.mlx --mlir -o %t/dumped.mlir
// RUN: meshloom-as %t/dumped.mlir -o %t/again.mlx
// RUN: diff %t/as.mlx %t/again.mlx
// RUN: meshloom-run %t/as.mlx --random 0 --validate | filecheck %s --check-prefix TIME

// An instruction that is edited takes effect: y = 2 x + 4.
// RUN: sed 's/, 1.0 signal/, 4.0 signal/' %s > %t/edited.mlir
// RUN: meshloom-opt %t/edited.mlir -t 'emulate{inputs=iota}' | filecheck %s --check-prefix EDITED

// RUNS: y: tensor<16xf32> = [-5., -3., -1.,  1.,  3.,  5.,  7., -5., -3., -1.,  1.,  3.,  5.,  7., -5., -3.]
// EDITED: y: tensor<16xf32> = [-2.,  0.,  2.,  4.,  6.,  8., 10., -2.,  0.,  2.,  4.,  6.,  8., 10., -2.,  0.]
// TIME: traffic  DRAM 128 bytes read, 64 written

// CHECK: builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
module attributes {manycore.chip = #manycore.chip<"tiny">} {
  // CHECK-NEXT: coreasm.note "entry" = "main"
  coreasm.note "entry" = "main"
  // CHECK-NEXT: coreasm.memory dram used 192 image 0x80 bytes 64
  // DUMP: coreasm.memory dram used 192 image 0x80 bytes 64
  coreasm.memory dram used 192 image 0x80 bytes 64
  // CHECK-NEXT: coreasm.tensor input "x" f32 [16] dram 0x0 bytes 64 host 0x0
  coreasm.tensor input "x" f32 [16] dram 0 bytes 64 host 0
  // CHECK-NEXT: coreasm.tensor output "y" f32 [16] dram 0x40 bytes 64 host 0x40
  coreasm.tensor output "y" f32 [16] dram 0x40 bytes 64 host 0x40
  // CHECK-NEXT: coreasm.program @main {
  coreasm.program @main {
    // CHECK-NEXT: .desc [16] [4]  // d0
    .desc [16] [4]
    // CHECK-NEXT: .desc [16] [0]  // d1
    .desc [16] [0]
    // CHECK-NEXT: load f32 [0x0, d0], dram[0x0, d0]  // 0
    load f32 [0x0, d0], dram[0, d0]
    load f32 [0x80, d0], dram[0x80, d0] signal(vpu)
    // CHECK: mul f32 [0x40, d0], [0x0, d0], [0x80, d1] wait(load) from "scale"  // 2
    mul f32 [0x40, d0], [0x0, d0], [0x80, d1] wait(load) from "scale"
    // CHECK-NEXT: add f32 [0x40, d0], [0x40, d0], 1.0 signal(store) from "bias"  // 3
    // DUMP: add f32 [0x40, d0], [0x40, d0], 1.0 signal(store) from "bias"  // 3
    add f32 [0x40, d0], [0x40, d0], 1.0 signal(store) from "bias"
    store f32 dram[0x40, d0], [0x40, d0] wait(vpu)
    halt
  }
  coreasm.program @idle {
    halt
  }
  // CHECK: coreasm.launch {
  // CHECK-NEXT: .run "main" cores 0
  // CHECK-NEXT: .run "idle" cores 1 to 3
  coreasm.launch {
    .run "main" cores 0
    .run "idle" cores 1, 2, 3
  }
  // CHECK: coreasm.controller {
  coreasm.controller {
    ctl.h2d dram = 0x0, host = 0x0 tag(0) bytes(64)
    ctl.wait tag(0)
    ctl.launch launch(0)
    ctl.join launch(0)
    ctl.d2h dram = 0x40, host = 0x40 tag(1) bytes(64)
    ctl.wait tag(1)
    ctl.halt
  }
  // The factor 2, and 15 zeros that the memory's image has behind it.
  // CHECK: coreasm.bytes dram 0x80 "00000040"
  // DUMP: coreasm.bytes dram 0x80 "00000040{{0+}}"
  coreasm.bytes dram 0x80 "00000040"
}
