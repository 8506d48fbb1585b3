// Between the forms of a program, without loss; unpacked instructions can be edited, and edits take effect.

// RUN: mkdir -p %t
// RUN: meshloom-opt %s -p coreasm-unpack | filecheck %s
// RUN: meshloom-opt %s > %t/packed.mlir
// RUN: meshloom-opt %s -p coreasm-unpack,coreasm-pack --check-semantics > %t/again.mlir
// RUN: diff %t/packed.mlir %t/again.mlir
// RUN: meshloom-opt %s -p coreasm-unpack -o %t/unpacked.mlir
// RUN: meshloom-as %s -o %t/packed.mlx
// RUN: meshloom-as %t/unpacked.mlir -o %t/unpacked.mlx
// RUN: diff %t/packed.mlx %t/unpacked.mlx
// RUN: meshloom-opt %t/unpacked.mlir -t 'emulate{inputs=iota}' | filecheck %s --check-prefix RUNS

// An instruction that is put in, before others that cores set fields of: y = max(x, 0) + core number * 100.
// RUN: sed 's/^\( *\)coreasm.store.*/\1coreasm.max f32 [0x0, d0], [0x0, d0], 0.0 signal(store)\n&/; s/signal(store) param/param/' %t/unpacked.mlir > %t/edited.mlir
// RUN: meshloom-opt %t/edited.mlir -p coreasm-pack -t 'emulate{inputs=iota}' | filecheck %s --check-prefix EDITED

// RUNS: y: tensor<4x4xf32> = [[ -3.,  -2.,  -1.,   0.],
// RUNS-NEXT: [101., 102., 103.,  97.],
// EDITED: y: tensor<4x4xf32> = [[  0.,   0.,   0.,   0.],
// EDITED-NEXT: [101., 102., 103.,  97.],

module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.tensor input "x" f32 [4, 4] dram 0x0 bytes 64 host 0x0
  coreasm.tensor output "y" f32 [4, 4] dram 0x40 bytes 64 host 0x40
  // CHECK: coreasm.unpacked_program @row descs [#coreasm.access<[4], [4]>] {
  coreasm.program @row {
    .desc [4] [4]
    // CHECK-NEXT: coreasm.load f32 [0x0, d0], dram[0x0, d0] signal(vpu) param(addr1 = 0)
    load f32 [0x0, d0], dram[0x0, d0] signal(vpu) param(addr1 = 0)
    // CHECK-NEXT: coreasm.add f32 [0x0, d0], [0x0, d0], 0.0 wait(load) signal(store) param(addr2 = 1) from "bias"
    add f32 [0x0, d0], [0x0, d0], 0.0 wait(load) signal(store) param(addr2 = 1) from "bias"
    // CHECK-NEXT: coreasm.store f32 dram[0x40, d0], [0x0, d0] wait(vpu) param(addr0 = 2)
    store f32 dram[0x40, d0], [0x0, d0] wait(vpu) param(addr0 = 2)
    // CHECK-NEXT: coreasm.halt
    halt
  }
  coreasm.launch {
    .run "row" cores 0 params 0, 0, 64
    .run "row" cores 1 params 16, 1120403456, 80
    .run "row" cores 2 params 32, 1128792064, 96
    .run "row" cores 3 params 48, 1133903872, 112
  }
  // CHECK: coreasm.unpacked_controller {
  // CHECK-NEXT: coreasm.ctl.h2d dram = 0x0, host = 0x0 tag(0) bytes(64)
  coreasm.controller {
    ctl.h2d dram = 0x0, host = 0x0 tag(0) bytes(64)
    ctl.wait tag(0)
    ctl.launch launch(0)
    ctl.join launch(0)
    ctl.d2h dram = 0x40, host = 0x40 tag(1) bytes(64)
    ctl.wait tag(1)
    ctl.halt
  }
}
