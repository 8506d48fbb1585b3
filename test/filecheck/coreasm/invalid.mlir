// RUN: meshloom-opt %s --split-input-file --verify-diagnostics

coreasm.unpacked_program @own_unit descs [#coreasm.access<[16], [4]>] {
  // expected-error@+1 {{'add': waits for or signals its own unit}}
  coreasm.add f32 [0x0, d0], [0x0, d0], [0x0, d0] wait(vpu)
  coreasm.halt
}

// -----

coreasm.unpacked_program @types descs [#coreasm.access<[16], [4]>] {
  // expected-error@+1 {{'matmul': does not take these element types}}
  coreasm.matmul f32 -> i32 [0x0, d0], [0x0, d0], [0x0, d0] dims(0, 1, 1, 1)
  coreasm.halt
}

// -----

coreasm.unpacked_program @dims descs [#coreasm.access<[16], [4]>] {
  // expected-error@+1 {{'matmul': has an operand of more than 5 dims}}
  coreasm.matmul f32 [0x0, d0], [0x0, d0], [0x0, d0] dims(1, 3, 1, 2)
  coreasm.halt
}

// -----

coreasm.unpacked_program @descriptor descs [#coreasm.access<[16], [4]>] {
  // expected-error@+1 {{'neg': names an access descriptor that does not exist (the program has 1)}}
  coreasm.neg f32 [0x0, d0], [0x0, d1]
  coreasm.halt
}

// -----

coreasm.unpacked_program @dims_of_a_sparse_product descs [#coreasm.access<[16], [4]>] {
  // expected-error@+1 {{expected a number of dims}}
  coreasm.matmul.w f32 [0x0, d0], [0x0, d0], [0x0, d0], cycles = 1 dims(0, 16, 1, 1)
  coreasm.halt
}

// -----

coreasm.unpacked_program @threshold descs [#coreasm.access<[2, 8, 1, 1, 16], [8, 0, 0, 0, 0]>] {
  // expected-error@+1 {{'encode': takes no immediate value there}}
  "coreasm.encode"() {types = 0 : i8, wait = 0 : i8, signal = 0 : i8, regs = 0 : i16, imm = 0 : i16, addr = array<i32: 0, 0, 0, 0>, desc = array<i16: 0, -1, -1, -1>} : () -> ()
  coreasm.halt
}

// -----

coreasm.unpacked_program @map descs [#coreasm.access<[16], [4]>, #coreasm.access<[2, 8, 1, 1, 16], [8, 0, 0, 0, 0]>] {
  // expected-error@+1 {{'decode': waits for or signals its own unit}}
  coreasm.decode f32 [0x0, d0], [0x40, d1], cycles = 9 signal(map)
  coreasm.halt
}

// -----

coreasm.unpacked_program @register {
  // expected-error@+1 {{'addi': register must be 1 to 15}}
  coreasm.addi increment = 1 r0
  coreasm.halt
}

// -----

coreasm.unpacked_program @reduced descs [#coreasm.access<[16], [4]>] {
  // expected-error@+1 {{'reduce.sum': reduces 1 to 5 dims}}
  coreasm.reduce.sum f32 [0x0, d0], [0x0, d0] reduce(6)
  coreasm.halt
}

// -----

// expected-error@+1 {{the last word must be 'halt'}}
coreasm.unpacked_program @no_halt {
  coreasm.nop
}

// -----

// expected-error@+1 {{'halt' is not the last word}}
coreasm.unpacked_program @two_halts {
  coreasm.halt
  coreasm.halt
}

// -----

coreasm.unpacked_program @empty_loop {
  // expected-error@+1 {{Region 'body' at position 0 expected a single block}}
  coreasm.loop count = 3 {
  }
  coreasm.halt
}

// -----

// expected-error@+1 {{'loop' of 1 words, 0 times: both must be at least 1}}
coreasm.unpacked_program @zero_times {
  coreasm.loop count = 0 {
    coreasm.nop
  }
  coreasm.halt
}

// -----

// expected-error@+1 {{'leave' outside of a loop}}
coreasm.unpacked_program @no_loop {
  coreasm.loop count = 1 {
    coreasm.leave r1
  }
  coreasm.leave r1
  coreasm.halt
}

// -----

coreasm.unpacked_program @no_register {
  // expected-error@+1 {{'loop.r': register must be 1 to 15}}
  coreasm.loop.r most = 4 r0 {
    coreasm.nop
  }
  coreasm.halt
}

// -----

coreasm.unpacked_program @not_a_count descs [#coreasm.access<[1], [4]>] {
  // expected-error@+1 {{'lr': does not take these element types}}
  coreasm.lr f32 [0x0, d0] r1
  coreasm.halt
}

// -----

// expected-error@+1 {{'loop' nested more than 4 deep}}
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

coreasm.unpacked_program @mixed {
  // expected-error@+1 {{'ctl.launch': belongs to the controller's program}}
  coreasm.ctl.launch launch(0)
  coreasm.halt
}

// -----

coreasm.unpacked_program @parameter {
  // expected-error@+1 {{'halt': field addr0 cannot be a parameter}}
  coreasm.halt param(addr0 = 0)
}

// -----

// expected-error@+1 {{word 0: there is a parameter 1, but no parameter 0}}
coreasm.unpacked_program @first_parameter descs [#coreasm.access<[16], [4]>] {
  coreasm.neg f32 [0x0, d0], [0x0, d0] param(addr0 = 1)
  coreasm.halt
}

// -----

coreasm.unpacked_program @one_field descs [#coreasm.access<[16], [4]>] {
  coreasm.neg f32 [0x0, d0], [0x0, d0] param(addr0 = 0, addr0 = 1)
  // expected-error@+1 {{a field can be one parameter only}}
  coreasm.halt
}

// -----

// expected-error@+1 {{an instruction must stand in an unpacked program}}
coreasm.nop

// -----

coreasm.unpacked_program @unknown_type {
  // expected-error@+1 {{expected an element type}}
  coreasm.fill f33 [0x0, d0], 1.0
}

// -----

coreasm.unpacked_program @no_descriptor {
  // expected-error@+1 {{expected an access descriptor: d0 to d65534}}
  coreasm.copy f32 [0x0, d0], [0x0, r1]
}

// -----

coreasm.unpacked_program @immediate {
  coreasm.fill f32 [0x0, d0], -3
// expected-error@+1 {{the immediate does not fit in 32 bits}}
}

// -----

// expected-error@+1 {{sizes must be at least 1 and strides fit in 32 bits}}
coreasm.unpacked_program @access descs [#coreasm.access<[0], [4]>] {
  coreasm.halt
}
