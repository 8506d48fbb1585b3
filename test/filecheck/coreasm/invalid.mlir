// RUN: meshloom-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// CHECK: 'add': waits for or signals its own unit
coreasm.unpacked_program @own_unit descs [#coreasm.access<[16], [4]>] {
  coreasm.add f32 [0x0, d0], [0x0, d0], [0x0, d0] wait(vpu)
  coreasm.halt
}

// -----

// CHECK: 'matmul': does not take these element types
coreasm.unpacked_program @types descs [#coreasm.access<[16], [4]>] {
  coreasm.matmul f32 -> i32 [0x0, d0], [0x0, d0], [0x0, d0] dims(0, 1, 1, 1)
  coreasm.halt
}

// -----

// CHECK: 'matmul': has an operand of more than 5 dims
coreasm.unpacked_program @dims descs [#coreasm.access<[16], [4]>] {
  coreasm.matmul f32 [0x0, d0], [0x0, d0], [0x0, d0] dims(1, 3, 1, 2)
  coreasm.halt
}

// -----

// CHECK: 'neg': names an access descriptor that does not exist (the program has 1)
coreasm.unpacked_program @descriptor descs [#coreasm.access<[16], [4]>] {
  coreasm.neg f32 [0x0, d0], [0x0, d1]
  coreasm.halt
}

// -----

// CHECK: expected a number of dims
coreasm.unpacked_program @dims_of_a_sparse_product descs [#coreasm.access<[16], [4]>] {
  coreasm.matmul.w f32 [0x0, d0], [0x0, d0], [0x0, d0], cycles = 1 dims(0, 16, 1, 1)
  coreasm.halt
}

// -----

// CHECK: 'encode': takes no immediate value there
coreasm.unpacked_program @threshold descs [#coreasm.access<[2, 8, 1, 1, 16], [8, 0, 0, 0, 0]>] {
  "coreasm.encode"() {types = 0 : i8, wait = 0 : i8, signal = 0 : i8, regs = 0 : i16, imm = 0 : i16, addr = array<i32: 0, 0, 0, 0>, desc = array<i16: 0, -1, -1, -1>} : () -> ()
  coreasm.halt
}

// -----

// CHECK: 'decode': waits for or signals its own unit
coreasm.unpacked_program @map descs [#coreasm.access<[16], [4]>, #coreasm.access<[2, 8, 1, 1, 16], [8, 0, 0, 0, 0]>] {
  coreasm.decode f32 [0x0, d0], [0x40, d1], cycles = 9 signal(map)
  coreasm.halt
}

// -----

// CHECK: 'addi': register must be 1 to 15
coreasm.unpacked_program @register {
  coreasm.addi increment = 1 r0
  coreasm.halt
}

// -----

// CHECK: 'reduce.sum': reduces 1 to 5 dims
coreasm.unpacked_program @reduced descs [#coreasm.access<[16], [4]>] {
  coreasm.reduce.sum f32 [0x0, d0], [0x0, d0] reduce(6)
  coreasm.halt
}

// -----

// CHECK: the last word must be 'halt'
coreasm.unpacked_program @no_halt {
  coreasm.nop
}

// -----

// CHECK: 'halt' stands before the last word
coreasm.unpacked_program @two_halts {
  coreasm.halt
  coreasm.halt
}

// -----

// CHECK: Region 'body' at position 0 expected a single block
coreasm.unpacked_program @empty_loop {
  coreasm.loop count = 3 {
  }
  coreasm.halt
}

// -----

// CHECK: 'loop' of 1 words, 0 times: both must be at least 1
coreasm.unpacked_program @zero_times {
  coreasm.loop count = 0 {
    coreasm.nop
  }
  coreasm.halt
}

// -----

// CHECK: 'loop' nested more than 4 deep
coreasm.unpacked_program @deep {
  coreasm.loop count = 1 {
    coreasm.loop count = 1 {
      coreasm.loop count = 1 {
        coreasm.loop count = 1 {
          coreasm.loop count = 1 {
            coreasm.nop
          }
        }
      }
    }
  }
  coreasm.halt
}

// -----

// CHECK: 'ctl.launch': belongs to the controller's program
coreasm.unpacked_program @mixed {
  coreasm.ctl.launch launch(0)
  coreasm.halt
}

// -----

// CHECK: 'halt': field addr0 cannot be a parameter
coreasm.unpacked_program @parameter {
  coreasm.halt param(addr0 = 0)
}

// -----

// CHECK: word 0: there is a parameter 1, but no parameter 0
coreasm.unpacked_program @first_parameter descs [#coreasm.access<[16], [4]>] {
  coreasm.neg f32 [0x0, d0], [0x0, d0] param(addr0 = 1)
  coreasm.halt
}

// -----

// CHECK: a field can be one parameter only
coreasm.unpacked_program @one_field descs [#coreasm.access<[16], [4]>] {
  coreasm.neg f32 [0x0, d0], [0x0, d0] param(addr0 = 0, addr0 = 1)
  coreasm.halt
}

// -----

// CHECK: an instruction must stand in an unpacked program
coreasm.nop

// -----

// CHECK: expected an element type
coreasm.unpacked_program @unknown_type {
  coreasm.fill f33 [0x0, d0], 1.0
}

// -----

// CHECK: expected an access descriptor: d0 to d65534
coreasm.unpacked_program @no_descriptor {
  coreasm.copy f32 [0x0, d0], [0x0, r1]
}

// -----

// CHECK: the immediate does not fit in 32 bits
coreasm.unpacked_program @immediate {
  coreasm.fill f32 [0x0, d0], -3
}

// -----

// CHECK: sizes must be at least 1 and strides fit in 32 bits
coreasm.unpacked_program @access descs [#coreasm.access<[0], [4]>] {
  coreasm.halt
}
