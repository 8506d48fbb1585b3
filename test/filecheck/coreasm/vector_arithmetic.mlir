// Arithmetic of two and three operands on the vector unit.

// RUN: meshloom-opt %s -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p coreasm-unpack | meshloom-opt -p coreasm-pack -t 'interpret{inputs=iota}' | filecheck %s

module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.tensor input "x" f32 [4] dram 0x0 bytes 16 host 0x0
  coreasm.tensor output "y" f32 [9, 4] dram 0x40 bytes 144 host 0x40
  coreasm.program @main {
    .desc [4] [4]
    .desc [36] [4]
    load f32 [0x0, d0], dram[0x0, d0] signal(vpu)
    // The operands: x = -3, -2, -1, 0; x + 4.
    add f32 [0x40, d0], [0x0, d0], 4.0 wait(load)
    // CHECK: y: {{.*\[\[ *}}-4.      , -4.      , -4.      , -4.      ],
    sub f32 [0x100, d0], [0x0, d0], [0x40, d0]
    // CHECK-NEXT: [-3.      , -4.      , -3.      ,  0.      ],
    mul f32 [0x110, d0], [0x0, d0], [0x40, d0]
    // CHECK-NEXT: [-3.      , -1.      , -0.333333,  0.      ],
    div f32 [0x120, d0], [0x0, d0], [0x40, d0]
    // CHECK-NEXT: [ 1.      ,  8.      , 27.      , 64.      ],
    pow f32 [0x130, d0], [0x40, d0], 3.0
    // CHECK-NEXT: [-1.5     , -1.5     , -1.      ,  0.      ],
    max f32 [0x140, d0], [0x0, d0], -1.5
    // CHECK-NEXT: [-3.      , -2.      , -1.5     , -1.5     ],
    min f32 [0x150, d0], [0x0, d0], -1.5
    // CHECK-NEXT: [ 1.      ,  0.      ,  1.      ,  0.      ],
    mod f32 [0x160, d0], [0x0, d0], 2.0
    // CHECK-NEXT: [-1.      , -0.      , -1.      ,  0.      ],
    fmod f32 [0x170, d0], [0x0, d0], 2.0
    // CHECK-NEXT: [ 7.      ,  6.      ,  7.      , 10.      ]]
    fma f32 [0x180, d0], [0x0, d0], [0x40, d0], 10.0 signal(store)
    store f32 dram[0x40, d1], [0x100, d1] wait(vpu)
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
    ctl.h2d dram = 0x0, host = 0x0 tag(0) bytes(16)
    ctl.wait tag(0)
    ctl.launch launch(0)
    ctl.join launch(0)
    ctl.d2h dram = 0x40, host = 0x40 tag(1) bytes(144)
    ctl.wait tag(1)
    ctl.halt
  }
}
