// What is wrong with a packed program is told with the line of the instruction.
// RUN: meshloom-opt %s --split-input-file --parsing-diagnostics | filecheck %s

// CHECK: :9:3
// CHECK-NEXT: add f32 [0x0, d0], [0x0, d0], [0x0, d0] wait(vpu)
// CHECK: 'add': waits for or signals its own unit
coreasm.program @own_unit {
  .desc [16] [4]
  add f32 [0x0, d0], [0x0, d0], [0x0, d0] wait(vpu)
  halt
}

// -----

// CHECK: :21:3
// CHECK: 'neg': names an access descriptor that does not exist (the program has 1)
coreasm.program @descriptor {
  .desc [16] [4]
  loop count = 2 {

  neg f32 [0x0, d0], [0x0, d1]
  }
  halt
}

// -----

// CHECK: there is no instruction or directive 'addd'
coreasm.program @mnemonic {
  addd f32 [0x0, d0]
}

// -----

// CHECK: expected an element type: f32, f16
coreasm.program @type {
  .desc [16] [4]
  fill f33 [0x0, d0], 1.0
}

// -----

// CHECK: expected the end of the line (before '}')
coreasm.program @brace {
  halt }

// -----

// CHECK: the last word must be 'halt'
coreasm.program @no_halt {
  nop
}

// -----

// CHECK: the last word must be 'halt'
coreasm.program @empty {
}

// -----

// CHECK: this block has no closing '}'
coreasm.program @loop {
  loop count = 2 {
  nop
}

// -----

// CHECK: there is a parameter 2, but no parameter 1
coreasm.program @parameters {
  .desc [16] [4]
  neg f32 [0x0, d0], [0x0, d0] param(addr0 = 0, addr1 = 2)
  halt
}

// -----

// CHECK: parameter 0 is given twice
coreasm.program @twice {
  .desc [16] [4]
  neg f32 [0x0, d0], [0x0, d0] param(addr0 = 0, addr1 = 0)
  halt
}

// -----

// CHECK: 'ctl.halt': belongs to the controller's program
coreasm.program @controllers {
  ctl.halt
}

// -----

// CHECK: 'halt': belongs to a core's program
coreasm.controller {
  halt
}

// -----

// CHECK: a descriptor of a program has 1 to 5 sizes and as many strides
coreasm.controller {
  .desc [16] [4]
  ctl.halt
}

// -----

// CHECK: expected '.run'
coreasm.launch {
  "main"
}

// -----

// CHECK: expected bytes as pairs of hexadecimal digits
coreasm.bytes dram 0x0 "0"

// -----

// CHECK: expected a memory: dram or host
coreasm.bytes sram 0x0 "00"

// -----

// CHECK: this block has no closing '}'
coreasm.program @end {
  halt
