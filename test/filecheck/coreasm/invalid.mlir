// RUN: meshloom-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// CHECK: 'add': waits for or signals its own unit
coreasm.program @own_unit descs [#coreasm.access<[16], [4]>] {
  coreasm.add f32 [0x0, d0], [0x0, d0], [0x0, d0] wait(vpu)
  coreasm.halt
}

// -----

// CHECK: 'matmul': does not take these element types
coreasm.program @types descs [#coreasm.access<[16], [4]>] {
  coreasm.matmul f32 -> i32 [0x0, d0], [0x0, d0], [0x0, d0] dims(0, 1, 1, 1)
  coreasm.halt
}

// -----

// CHECK: 'matmul': has an operand of more than 5 dims
coreasm.program @dims descs [#coreasm.access<[16], [4]>] {
  coreasm.matmul f32 [0x0, d0], [0x0, d0], [0x0, d0] dims(1, 3, 1, 2)
  coreasm.halt
}

// -----

// CHECK: 'neg': names an access descriptor that does not exist (the program has 1)
coreasm.program @descriptor descs [#coreasm.access<[16], [4]>] {
  coreasm.neg f32 [0x0, d0], [0x0, d1]
  coreasm.halt
}

// -----

// CHECK: expected a number of dims
coreasm.program @dims_of_a_sparse_product descs [#coreasm.access<[16], [4]>] {
  coreasm.matmul.w f32 [0x0, d0], [0x0, d0], [0x0, d0], cycles = 1 dims(0, 16, 1, 1)
  coreasm.halt
}

// -----

// CHECK: 'encode': takes no immediate value there
coreasm.program @threshold descs [#coreasm.access<[2, 8, 1, 1, 16], [8, 0, 0, 0, 0]>] {
  "coreasm.encode"() {types = 0 : i8, wait = 0 : i8, signal = 0 : i8, regs = 0 : i16, imm = 0 : i16, addr = array<i32: 0, 0, 0, 0>, desc = array<i16: 0, -1, -1, -1>} : () -> ()
  coreasm.halt
}

// -----

// CHECK: 'decode': waits for or signals its own unit
coreasm.program @map descs [#coreasm.access<[16], [4]>, #coreasm.access<[2, 8, 1, 1, 16], [8, 0, 0, 0, 0]>] {
  coreasm.decode f32 [0x0, d0], [0x40, d1], cycles = 9 signal(map)
  coreasm.halt
}

// -----

// CHECK: 'addi': register must be 1 to 15
coreasm.program @register {
  coreasm.addi increment = 1 r0
  coreasm.halt
}

// -----

// CHECK: 'reduce.sum': reduces 1 to 5 dims
coreasm.program @reduced descs [#coreasm.access<[16], [4]>] {
  coreasm.reduce.sum f32 [0x0, d0], [0x0, d0] reduce(6)
  coreasm.halt
}

// -----

// CHECK: the last word must be 'halt'
coreasm.program @no_halt {
  coreasm.nop
}

// -----

// CHECK: 'halt' stands before the last word
coreasm.program @two_halts {
  coreasm.halt
  coreasm.halt
}

// -----

// CHECK: Region 'body' at position 0 expected a single block
coreasm.program @empty_loop {
  coreasm.loop count = 3 {
  }
  coreasm.halt
}

// -----

// CHECK: 'loop' of 1 words, 0 times: both must be at least 1
coreasm.program @zero_times {
  coreasm.loop count = 0 {
    coreasm.nop
  }
  coreasm.halt
}

// -----

// CHECK: 'loop' nested more than 4 deep
coreasm.program @deep {
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
coreasm.program @mixed {
  coreasm.ctl.launch launch(0)
  coreasm.halt
}

// -----

// CHECK: parameter '3.addr0' must be the number of a word
coreasm.program @parameter params ["3.addr0"] {
  coreasm.halt
}

// -----

// CHECK: an instruction must stand in a 'coreasm.program'
coreasm.nop

// -----

// CHECK: expected an element type
coreasm.program @unknown_type {
  coreasm.fill f33 [0x0, d0], 1.0
}

// -----

// CHECK: expected an access descriptor: d0 to d65534
coreasm.program @no_descriptor {
  coreasm.copy f32 [0x0, d0], [0x0, r1]
}

// -----

// CHECK: the immediate does not fit in 32 bits
coreasm.program @immediate {
  coreasm.fill f32 [0x0, d0], -3
}

// -----

// CHECK: sizes must be at least 1 and strides fit in 32 bits
coreasm.program @access descs [#coreasm.access<[0], [4]>] {
  coreasm.halt
}
