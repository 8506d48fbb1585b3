// The example of a pass on instructions: what does nothing goes, what keeps an order stays.

// RUN: meshloom-opt %s --load-pass-plugin %S/../../../examples/coreasm_peephole.py -p coreasm-peephole | filecheck %s
// RUN: meshloom-opt %s --load-pass-plugin %S/../../../examples/coreasm_peephole.py -p coreasm-peephole,coreasm-pack -o %t.mlir
// RUN: meshloom-opt %t.mlir -p coreasm-unpack | filecheck %s

// CHECK-LABEL: coreasm.unpacked_program @removed
// CHECK-SAME: {
// CHECK-NEXT:    coreasm.load f32 [0x0, d0], dram[0x0, d0] signal(vpu) param(addr1 = 0)
// CHECK-NEXT:    coreasm.copy f32 [0x100, d0], [0x80, d0] signal(vpu, store)
// CHECK-NEXT:    coreasm.loop count = 3 {
// CHECK-NEXT:      coreasm.addi increment = 4 r1
// CHECK-NEXT:      coreasm.loop count = 2 {
// CHECK-NEXT:        coreasm.neg f32 [0x200, d0], [0x200, d0]
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    coreasm.add f32 [0x0, d0], [0x0, d0], 1.0 wait(dau, load) signal(store)
// CHECK-NEXT:    coreasm.store f32 dram[0x40, d0], [0x0, d0] wait(vpu, dau)
// CHECK-NEXT:    coreasm.halt
// CHECK-NEXT:  }
coreasm.unpacked_program @removed descs [#coreasm.access<[4], [4]>] {
  coreasm.load f32 [0x0, d0], dram[0x0, d0] signal(vpu) param(addr1 = 0)
  // No tokens: it goes.
  coreasm.mov f32 [0x0, d0], [0x0, d0]
  coreasm.copy f32 [0x100, d0], [0x80, d0] signal(vpu)
  // The copy before gives its token.
  coreasm.copy f32 [0x80, d0], [0x80, d0] signal(store)
  coreasm.loop count = 3 {
    // A register is added to both places.
    coreasm.mov i64 [0x80 + r1, d0], [0x80 + r1, d0]
    coreasm.addi increment = 4 r1
    coreasm.loop count = 2 {
      coreasm.neg f32 [0x200, d0], [0x200, d0]
      coreasm.mov f32 [0x200, d0], [0x200, d0]
    }
  }
  // The addition waits in the place of both.
  coreasm.mov f32 [0x0, d0], [0x0, d0] wait(load)
  coreasm.mov f32 [0x100, d0], [0x100, d0] wait(dau)
  coreasm.add f32 [0x0, d0], [0x0, d0], 1.0 signal(store)
  coreasm.store f32 dram[0x40, d0], [0x0, d0] wait(vpu, dau)
  coreasm.halt
}

// CHECK-LABEL: coreasm.unpacked_program @kept
// CHECK-SAME: {
// CHECK-NEXT:    coreasm.mov f32 [0x0, d0], [0x4, d0]
// CHECK-NEXT:    coreasm.mov f32 [0x0, d0], [0x0, d1]
// CHECK-NEXT:    coreasm.mov f32 [0x0 + r1, d0], [0x0 + r2, d0]
// CHECK-NEXT:    coreasm.mov f32 -> i32 [0x0, d0], [0x0, d0]
// CHECK-NEXT:    coreasm.mov f32 [0x0, d0], 0.0
// CHECK-NEXT:    coreasm.mov f32 [0x0, d0], [0x0, d0] param(addr0 = 0, addr1 = 1)
// CHECK-NEXT:    coreasm.neg f32 [0x0, d0], [0x0, d0] signal(store)
// CHECK-NEXT:    coreasm.mov f32 [0x0, d0], [0x0, d0] signal(store)
// CHECK-NEXT:    coreasm.mov f32 [0x0, d0], [0x0, d0] wait(load) signal(mpu)
// CHECK-NEXT:    coreasm.mov f32 [0x0, d0], [0x0, d0] wait(load)
// CHECK-NEXT:    coreasm.neg f32 [0x0, d0], [0x0, d0] wait(load)
// CHECK-NEXT:    coreasm.mov f32 [0x0, d0], [0x0, d0] wait(load)
// CHECK-NEXT:    coreasm.loop count = 2 {
// CHECK-NEXT:      coreasm.mov f32 [0x0, d0], [0x0, d0]
// CHECK-NEXT:    }
// CHECK-NEXT:    coreasm.mov f32 [0x0, d0], [0x0, d0] signal(store)
// CHECK-NEXT:    coreasm.wait n = 1 sem(3)
// CHECK-NEXT:    coreasm.wait n = 1 sem(3)
// CHECK-NEXT:    coreasm.send.wait n = 1 sem(4)
// CHECK-NEXT:    coreasm.send.wait n = 1 sem(4)
// CHECK-NEXT:    coreasm.halt
// CHECK-NEXT:  }
coreasm.unpacked_program @kept descs [#coreasm.access<[4], [4]>, #coreasm.access<[4], [8]>] {
  // Another address, descriptor, register, type; an immediate; fields that cores set.
  coreasm.mov f32 [0x0, d0], [0x4, d0]
  coreasm.mov f32 [0x0, d0], [0x0, d1]
  coreasm.mov f32 [0x0 + r1, d0], [0x0 + r2, d0]
  coreasm.mov f32 -> i32 [0x0, d0], [0x0, d0]
  coreasm.mov f32 [0x0, d0], 0.0
  coreasm.mov f32 [0x0, d0], [0x0, d0] param(addr0 = 0, addr1 = 1)
  // The instruction before gives such a token already; tokens are taken and given; the one after takes such a token.
  coreasm.neg f32 [0x0, d0], [0x0, d0] signal(store)
  coreasm.mov f32 [0x0, d0], [0x0, d0] signal(store)
  coreasm.mov f32 [0x0, d0], [0x0, d0] wait(load) signal(mpu)
  coreasm.mov f32 [0x0, d0], [0x0, d0] wait(load)
  coreasm.neg f32 [0x0, d0], [0x0, d0] wait(load)
  // Nothing can take over the tokens on this side of the loop; the loop has nothing else.
  coreasm.mov f32 [0x0, d0], [0x0, d0] wait(load)
  coreasm.loop count = 2 {
    coreasm.mov f32 [0x0, d0], [0x0, d0]
  }
  coreasm.mov f32 [0x0, d0], [0x0, d0] signal(store)
  // These subtract from the semaphores.
  coreasm.wait n = 1 sem(3)
  coreasm.wait n = 1 sem(3)
  coreasm.send.wait n = 1 sem(4)
  coreasm.send.wait n = 1 sem(4)
  coreasm.halt
}

// CHECK-LABEL: coreasm.unpacked_controller
// CHECK-SAME: {
// CHECK-NEXT:    coreasm.ctl.h2d dram = 0x0, host = 0x0 tag(0) bytes(64)
// CHECK-NEXT:    coreasm.ctl.h2d dram = 0x40, host = 0x40 tag(1) bytes(64)
// CHECK-NEXT:    coreasm.ctl.wait tag(0)
// CHECK-NEXT:    coreasm.ctl.launch launch(0)
// CHECK-NEXT:    coreasm.ctl.wait tag(1)
// CHECK-NEXT:    coreasm.ctl.join launch(0)
// CHECK-NEXT:    coreasm.ctl.launch launch(1)
// CHECK-NEXT:    coreasm.ctl.join launch(1)
// CHECK-NEXT:    coreasm.ctl.launch launch(0)
// CHECK-NEXT:    coreasm.ctl.join launch(0)
// CHECK-NEXT:    coreasm.ctl.d2h dram = 0x40, host = 0x40 tag(0) bytes(64)
// CHECK-NEXT:    coreasm.ctl.wait tag(0)
// CHECK-NEXT:    coreasm.ctl.halt
// CHECK-NEXT:  }
coreasm.unpacked_controller {
  coreasm.ctl.h2d dram = 0x0, host = 0x0 tag(0) bytes(64)
  coreasm.ctl.h2d dram = 0x40, host = 0x40 tag(1) bytes(64)
  coreasm.ctl.wait tag(0)
  coreasm.ctl.launch launch(0)
  // Goes: neither another tag nor a launch of that number begins copies of this one.
  coreasm.ctl.wait tag(0)
  coreasm.ctl.wait tag(1)
  coreasm.ctl.join launch(0)
  coreasm.ctl.launch launch(1)
  // Go: launch 0 has ended.
  coreasm.ctl.join launch(0)
  coreasm.ctl.join launch(1)
  coreasm.ctl.join launch(0)
  // Stay: launch 0 runs again, and copies have the tag.
  coreasm.ctl.launch launch(0)
  coreasm.ctl.join launch(0)
  coreasm.ctl.d2h dram = 0x40, host = 0x40 tag(0) bytes(64)
  coreasm.ctl.wait tag(0)
  coreasm.ctl.halt
}
