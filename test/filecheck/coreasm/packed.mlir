// Packed programs: the syntax of listings, one op each.

// RUN: meshloom-opt %s | filecheck %s
// RUN: meshloom-opt %s --print-op-generic | filecheck %s --check-prefix GENERIC
// RUN: meshloom-opt %s --print-op-generic | meshloom-opt | filecheck %s

// CHECK: coreasm.sources {
// CHECK-NEXT: .source "conv"  // 0
// CHECK-NEXT: .source "conv"  // 1
coreasm.sources {
  .source "conv"
  .source "conv"
}

// CHECK: coreasm.sets {
// CHECK-NEXT: .set  // 0
// CHECK-NEXT: .set 0 to 2, 5  // 1
coreasm.sets {
  .set
  .set 0, 1, 2, 5
}

// GENERIC: "coreasm.program"() <{sym_name = "worker", words = "
// CHECK: coreasm.program @worker {
coreasm.program @worker {
  // CHECK-NEXT: .desc [16] [4]  // d0
  // CHECK-NEXT: .desc [4, 16] [0, -4]  // d1
  .desc [16] [4]
  .desc [4, 16] [0, -4]
  // A field that each core sets stands at its instruction, with the number of the value.
  // CHECK-NEXT: load f32 [0x0, d0], dram[0x123456789 + r2, d0] signal(vpu) param(desc0 = 0, addr1 = 1) from 0  // 0 "conv"
  load f32 [0, d0], dram[0x123456789 + r2, d0] signal(vpu) param(addr1 = 1, desc0 = 0) from 0
  // CHECK-NEXT: li value = -16 r3  // 1
  li value = -16 r3 ; a comment as in listings
  // CHECK-NEXT: loop count = 5 {  // 2
  loop count = 5 {

    // CHECK-NEXT: loop count = 2 from 1 {  // 3 "conv"
    loop count = 2 from 1 {
      // CHECK-NEXT: add f32 [0x40 + r3, d1], [0x0, d1], 1.5 wait(load) from "relu \"1\""  // 4
      add f32 [0x40 + r3, d1], [0x0, d1], 1.5 wait(load) from "relu \"1\"" // a comment as in IR
    // CHECK-NEXT: }
    }
    // CHECK-NEXT: addi increment = 64 r3  // 5
    addi increment = 64 r3
  }
  // CHECK: fill f32 [0x0, d0], 0x7fc00001  // 6
  fill f32 [0x0, d0], 0x7fc00001
  // CHECK-NEXT: put f32 remote[0x0, d0], [0x0, d0] sem(7) set(1)  // 7
  put f32 remote[0x0, d0], [0x0, d0] sem(7) set(1)
  // CHECK-NEXT: halt  // 8
  halt
  // CHECK-NEXT: } attributes {why = "test"}
} attributes {why = "test"}

// CHECK: coreasm.program @"with space" {
coreasm.program @"with space" {
  halt
}

// CHECK: coreasm.launch {
// CHECK-NEXT: .run "worker" cores 5, 0 to 2 params 4294967295, 0
coreasm.launch {
  .run "worker" cores 5, 0 to 2 params 4294967295, 0
}
