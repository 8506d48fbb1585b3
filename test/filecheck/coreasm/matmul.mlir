// Matrix products with dense and encoded operands.

// RUN: meshloom-opt %s -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p coreasm-unpack | meshloom-opt -p coreasm-pack -t 'interpret{inputs=iota}' | filecheck %s

// A = x: -3 -2 -1 0, 1 2 3 -3. B: 1 2, 3 4, 5 6, 7 8.

module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.tensor input "x" f32 [2, 4] dram 0x0 bytes 32 host 0x0
  coreasm.tensor output "y" f32 [24, 2] dram 0x40 bytes 192 host 0x40
  coreasm.program @main {
    .desc [2, 4] [16, 4]
    .desc [4, 2] [8, 4]
    .desc [2, 2] [8, 4]
    // Encoded A and B: two fibers of 4 along k, groups of 1 element, a direct index, room for 8 values at byte 8.
    .desc [2, 4, 1, 1, 8] [8, 0, 0, 0, 0]
    .desc [2, 4, 1, 1, 8] [8, 0, 0, 0, 0]
    // B by columns.
    .desc [2, 4] [4, 8]
    .desc [48] [4]
    load f32 [0x0, d0], dram[0x0, d0] signal(map)
    iota f32 [0x40, d1], start = 1, step = 1 signal(map)
    encode f32 [0x180, d3], [0x0, d0], 1.5, cycles = 4 wait(vpu, load)
    encode f32 [0x200, d4], [0x40, d5], 2.5, cycles = 4 signal(mpu)
    // A B; added to itself by `matmul.acc`.
    // CHECK: y: {{.*\[\[ *}}-14., -20.],
    // CHECK-NEXT: {{\[ *}}1., 4.],
    matmul f32 [0x300, d2], [0x0, d0], [0x40, d1] dims(0, 1, 1, 1) wait(map)
    // CHECK-NEXT: {{\[ *}}-28., -40.],
    // CHECK-NEXT: {{\[ *}}2., 8.],
    matmul f32 [0x310, d2], [0x0, d0], [0x40, d1] dims(0, 1, 1, 1)
    matmul.acc f32 [0x310, d2], [0x0, d0], [0x40, d1] dims(0, 1, 1, 1)
    // A B, without the zero of A; added to itself by `matmul.z.acc`.
    // CHECK-NEXT: {{\[ *}}-14., -20.],
    // CHECK-NEXT: {{\[ *}}1., 4.],
    matmul.z f32 [0x320, d2], [0x0, d0], [0x40, d1], cycles = 4 dims(0, 1, 1, 1)
    // CHECK-NEXT: {{\[ *}}-28., -40.],
    // CHECK-NEXT: {{\[ *}}2., 8.],
    matmul.z f32 [0x330, d2], [0x0, d0], [0x40, d1], cycles = 4 dims(0, 1, 1, 1)
    matmul.z.acc f32 [0x330, d2], [0x0, d0], [0x40, d1], cycles = 4 dims(0, 1, 1, 1)
    // A B', where B' has the 3 to 8 of B only; added to itself by `matmul.w.acc`.
    // CHECK-NEXT: {{\[ *}}-11., -14.],
    // CHECK-NEXT: {{\[ *}}0., 2.],
    matmul.w f32 [0x340, d2], [0x0, d0], [0x200, d4], cycles = 4 dims(0, 1, 1, 1)
    // CHECK-NEXT: {{\[ *}}-22., -28.],
    // CHECK-NEXT: {{\[ *}}0., 4.],
    matmul.w f32 [0x350, d2], [0x0, d0], [0x200, d4], cycles = 4 dims(0, 1, 1, 1)
    matmul.w.acc f32 [0x350, d2], [0x0, d0], [0x200, d4], cycles = 4 dims(0, 1, 1, 1)
    // A B', without the zero of A; added to itself by `matmul.zw.acc`.
    // CHECK-NEXT: {{\[ *}}-11., -14.],
    // CHECK-NEXT: {{\[ *}}0., 2.],
    matmul.zw f32 [0x360, d2], [0x0, d0], [0x200, d4], cycles = 4 dims(0, 1, 1, 1)
    // CHECK-NEXT: {{\[ *}}-22., -28.],
    // CHECK-NEXT: {{\[ *}}0., 4.],
    matmul.zw f32 [0x370, d2], [0x0, d0], [0x200, d4], cycles = 4 dims(0, 1, 1, 1)
    matmul.zw.acc f32 [0x370, d2], [0x0, d0], [0x200, d4], cycles = 4 dims(0, 1, 1, 1)
    // A' B, where A' has the elements of A above 1.5; added to itself by `matmul.x.acc`.
    // CHECK-NEXT: {{\[ *}}-9., -14.],
    // CHECK-NEXT: {{\[ *}}0., 2.],
    matmul.x f32 [0x380, d2], [0x180, d3], [0x40, d1], cycles = 4 dims(0, 1, 1, 1)
    // CHECK-NEXT: {{\[ *}}-18., -28.],
    // CHECK-NEXT: {{\[ *}}0., 4.],
    matmul.x f32 [0x390, d2], [0x180, d3], [0x40, d1], cycles = 4 dims(0, 1, 1, 1)
    matmul.x.acc f32 [0x390, d2], [0x180, d3], [0x40, d1], cycles = 4 dims(0, 1, 1, 1)
    // A' B'; added to itself by `matmul.xw.acc`.
    // CHECK-NEXT: {{\[ *}}-6., -8.],
    // CHECK-NEXT: {{\[ *}}0., 2.],
    matmul.xw f32 [0x3a0, d2], [0x180, d3], [0x200, d4], cycles = 4 dims(0, 1, 0, 1)
    // CHECK-NEXT: {{\[ *}}-12., -16.],
    // CHECK-NEXT: {{\[ *}}0., 4.]]
    matmul.xw f32 [0x3b0, d2], [0x180, d3], [0x200, d4], cycles = 4 dims(0, 1, 0, 1)
    matmul.xw.acc f32 [0x3b0, d2], [0x180, d3], [0x200, d4], cycles = 4 dims(0, 1, 0, 1) signal(store)
    store f32 dram[0x40, d6], [0x300, d6] wait(mpu)
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
    ctl.h2d dram = 0x0, host = 0x0 tag(0) bytes(32)
    ctl.wait tag(0)
    ctl.launch launch(0)
    ctl.join launch(0)
    ctl.d2h dram = 0x40, host = 0x40 tag(1) bytes(192)
    ctl.wait tag(1)
    ctl.halt
  }
}
