// What only a whole executable shows, told by the verifier with the line.
// RUN: meshloom-opt %s --split-input-file --verify-diagnostics

module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.program @main {
    halt
  }
  // expected-error@+1 {{line 10: controller, word 0: 'ctl.launch': launch does not exist (there are 0)}}
  coreasm.controller {
    ctl.launch launch(0)
    ctl.halt
  }
}

// -----

module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.program @main {
    halt
  }
  coreasm.launch {
    .run "other" cores 0 to 3
  }
  // expected-error@+1 {{there is no program 'other'}}
  coreasm.controller {
    ctl.halt
  }
}

// -----

module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.program @main {
    halt
  }
  coreasm.launch {
    .run "main" cores 0 to 2
  }
  // expected-error@+1 {{a launch gives core 3 no program}}
  coreasm.controller {
    ctl.halt
  }
}

// -----

module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.sets {
    .set 1
  }
  coreasm.program @main {
    signal sem(0) set(1)
    halt
  }
  // expected-error@+1 {{program 'main', word 0: 'signal': names a core set that does not exist (there are 1)}}
  coreasm.controller {
    ctl.halt
  }
}

// -----

module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.program @main {
    .desc [16] [4]
    neg f32 [0x0, d0], [0x0, d0] param(desc0 = 0)
    halt
  }
  coreasm.launch {
    .run "main" cores 0 to 3 params 1
  }
  // expected-error@+1 {{launch 0, core 0: parameter 0 of 'main' (word 0): 'neg': names an access descriptor that does not exist}}
  coreasm.controller {
    ctl.halt
  }
}

// -----

module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.unpacked_program @main descs [#coreasm.access<[16], [4]>] {
    coreasm.neg f32 [0x0, d0], [0x0, d0] param(addr0 = 0)
    coreasm.halt
  }
  coreasm.launch {
    .run "main" cores 0 to 3
  }
  // expected-error@+1 {{launch 0, core 0: 0 parameters, 'main' takes 1}}
  coreasm.unpacked_controller {
    coreasm.ctl.halt
  }
}

// -----

module attributes {manycore.chip = #manycore.chip<"tiny">} {
  // expected-error@+1 {{data at dram 0x2 to 0x4 overlaps other data or lies outside of the image, 0x0 to 0x4}}
  coreasm.controller {
    ctl.halt
  }
  coreasm.bytes dram 0x0 "000000"
  coreasm.bytes dram 0x2 "0000"
}

// -----

module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.bytes dram 0x3ffffff "0000"
  // expected-error@+1 {{weights end at 67108865, the DRAM has 67108864 bytes}}
  coreasm.controller {
    ctl.halt
  }
}

// -----

module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func private @main()
  // expected-error@+1 {{'func.func' does not belong in an executable}}
  coreasm.controller {
    ctl.halt
  }
}
