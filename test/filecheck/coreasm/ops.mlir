// RUN: meshloom-opt %s | filecheck %s
// RUN: meshloom-opt %s --print-op-generic | meshloom-opt | filecheck %s

// CHECK-LABEL: coreasm.unpacked_program @worker descs [#coreasm.access<[16], [4]>, #coreasm.access<[4, 16], [0, -4]>] {
coreasm.unpacked_program @worker descs [#coreasm.access<[16], [4]>, #coreasm.access<[4, 16], [0, -4]>] {
  // CHECK-NEXT: coreasm.load f32 [0x0, d0], dram[0x123456789 + r2, d0] signal(vpu) param(addr1 = 0)
  coreasm.load f32 [0, d0], dram[0x123456789 + r2, d0] signal(vpu) param(addr1 = 0)
  // CHECK-NEXT: coreasm.li value = -16 r3
  coreasm.li value = -16 r3
  // CHECK-NEXT: coreasm.loop count = 5 {
  coreasm.loop count = 5 {
    // CHECK-NEXT: coreasm.loop count = 2 from "outer" {
    coreasm.loop count = 2 from "outer" {
      // CHECK-NEXT: coreasm.add f32 [0x40 + r3, d1], [0x0, d1], 1.5 wait(load) from "relu"
      coreasm.add f32 [0x40 + r3, d1], [0x0, d1], 1.5 wait(load) from "relu"
    }
    // CHECK: coreasm.addi increment = 64 r3
    coreasm.addi increment = 64 r3
  }
  // CHECK: coreasm.lr i64 [0x40 + r3, d1] r1
  coreasm.lr i64 [0x40 + r3, d1] r1
  // CHECK-NEXT: coreasm.loop.r most = 9 r1 from "steps" {
  coreasm.loop.r most = 9 r1 from "steps" {
    // CHECK-NEXT: coreasm.lr bool [0x40, d1] r2
    coreasm.lr bool [0x40, d1] r2
    // CHECK-NEXT: coreasm.leave r2
    coreasm.leave r2
  }
  // CHECK: coreasm.drain
  coreasm.drain
  // CHECK: coreasm.mov f32 -> i64 [0x40, d0], [0x0, d0] wait(mpu, load)
  coreasm.mov f32 -> i64 [0x40, d0], [0x0, d0] wait(load, mpu)
  // CHECK-NEXT: coreasm.select i32 [0x40, d0], 1, [0x0, d0], -7
  coreasm.select i32 [0x40, d0], 1, [0x0, d0], -7
  // CHECK-NEXT: coreasm.matmul.acc bf16 -> f32 [0x80, d1], [0x0, d1], [0x100, d1] dims(0, 1, 1, 1)
  coreasm.matmul.acc bf16 -> f32 [0x80, d1], [0x0, d1], [0x100, d1] dims(0, 1, 1, 1)
  // CHECK-NEXT: coreasm.fill f32 [0x0, d0], 0x7fc00001
  coreasm.fill f32 [0x0, d0], 0x7fc00001
  // CHECK-NEXT: coreasm.fill f32 [0x0, d0], 1.0e-30
  coreasm.fill f32 [0x0, d0], 1.0e-30
  // CHECK-NEXT: coreasm.reduce.max.acc u8 [0x0, d0], [0x0, d1] reduce(1)
  coreasm.reduce.max.acc u8 [0x0, d0], [0x0, d1] reduce(1)
  // CHECK-NEXT: coreasm.gather f16 -> i32 [0x0, d1], [0x0, d1], [0x200, d0] index(1)
  coreasm.gather f16 -> i32 [0x0, d1], [0x0, d1], [0x200, d0] index(1)
  // CHECK-NEXT: coreasm.iota i64 [0x0, d0], start = -1, step = 2
  coreasm.iota i64 [0x0, d0], start = -1, step = 2
  // CHECK-NEXT: coreasm.put f32 remote[0x0, d0], [0x0, d0] sem(7) set(1)
  coreasm.put f32 remote[0x0, d0], [0x0, d0] sem(7) set(1)
  // CHECK-NEXT: coreasm.ready sem(8) set(0)
  coreasm.ready sem(8) set(0)
  // CHECK-NEXT: coreasm.wait n = 2 sem(7) signal(dau, store)
  coreasm.wait n = 2 sem(7) signal(store, dau)
  // CHECK-NEXT: coreasm.store f32 dram[0x100000000, d0], [0x0, d0]
  coreasm.store f32 dram[0x100000000, d0], [0x0, d0]
  // CHECK-NEXT: coreasm.halt
  coreasm.halt
}

// CHECK-LABEL: coreasm.unpacked_program @sparse descs [#coreasm.access<[4, 36], [144, 4]>, #coreasm.access<[1, 36, 1, 5, 7], [12, 0, 0, 0, 0]>, #coreasm.access<[4, 1], [4, 4]>] {
coreasm.unpacked_program @sparse descs [#coreasm.access<[4, 36], [144, 4]>, #coreasm.access<[1, 36, 1, 5, 7], [12, 0, 0, 0, 0]>, #coreasm.access<[4, 1], [4, 4]>] {
  // CHECK-NEXT: coreasm.matmul.w.acc f32 [0x400, d2], [0x0, d0], [0x800 + r1, d1], cycles = 22 dims(0, 1, 1, 1) signal(map) from "gemm"
  coreasm.matmul.w.acc f32 [0x400, d2], [0x0, d0], [0x800 + r1, d1], cycles = 22 dims(0, 1, 1, 1) signal(map) from "gemm"
  // CHECK-NEXT: coreasm.matmul.xw i8 -> i32 [0x400, d2], [0x0, d1], [0x800, d1], cycles = 0 dims(0, 1, 0, 1)
  coreasm.matmul.xw i8 -> i32 [0x400, d2], [0x0, d1], [0x800, d1], cycles = 0 dims(0, 1, 0, 1)
  // CHECK-NEXT: coreasm.encode f16 [0x800, d1], [0x0, d0], 0.5, cycles = 9 wait(mpu)
  coreasm.encode f16 [0x800, d1], [0x0, d0], 0.5, cycles = 9 wait(mpu)
  // CHECK-NEXT: coreasm.decode i8 [0x0, d0], [0x800, d1], cycles = 9
  coreasm.decode i8 [0x0, d0], [0x800, d1], cycles = 9
  // CHECK-NEXT: coreasm.halt
  coreasm.halt
}

// CHECK-LABEL: coreasm.unpacked_controller {
coreasm.unpacked_controller {
  // CHECK-NEXT: coreasm.ctl.h2d dram = 0x1000, host = 0x200000000 tag(3) bytes(5000000000)
  coreasm.ctl.h2d dram = 0x1000, host = 0x200000000 tag(3) bytes(5000000000)
  // CHECK-NEXT: coreasm.ctl.launch launch(0)
  coreasm.ctl.launch launch(0)
  // CHECK-NEXT: coreasm.ctl.halt
  coreasm.ctl.halt
}
