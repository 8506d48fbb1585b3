// Functions of one operand on the vector unit.

// RUN: meshloom-opt %s -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p coreasm-unpack | meshloom-opt -p coreasm-pack -t 'interpret{inputs=iota}' | filecheck %s

module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.tensor input "x" f32 [4] dram 0x0 bytes 16 host 0x0
  coreasm.tensor output "y" f32 [17, 4] dram 0x40 bytes 272 host 0x40
  coreasm.program @main {
    .desc [4] [4]
    .desc [68] [4]
    load f32 [0x0, d0], dram[0x0, d0] signal(vpu)
    // The operands: x = -3, -2, -1, 0; x + 4; 0.75 x.
    add f32 [0x40, d0], [0x0, d0], 4.0 wait(load)
    mul f32 [0x80, d0], [0x0, d0], 0.75
    // CHECK: y: {{.*\[\[ *}}3.      ,  2.      ,  1.      ,  0.      ],
    abs f32 [0x100, d0], [0x0, d0]
    // CHECK-NEXT: [ 3.      ,  2.      ,  1.      , -0.      ],
    neg f32 [0x110, d0], [0x0, d0]
    // CHECK-NEXT: [ 0.      ,  0.      ,  0.      ,  0.      ],
    relu f32 [0x120, d0], [0x0, d0]
    // CHECK-NEXT: [-1.      , -1.      , -1.      ,  0.      ],
    sign f32 [0x130, d0], [0x0, d0]
    // CHECK-NEXT: [ 0.049787,  0.135335,  0.367879,  1.      ],
    exp f32 [0x140, d0], [0x0, d0]
    // CHECK-NEXT: [-0.995055, -0.964028, -0.761594,  0.      ],
    tanh f32 [0x150, d0], [0x0, d0]
    // CHECK-NEXT: [ 0.047426,  0.119203,  0.268941,  0.5     ],
    sigmoid f32 [0x160, d0], [0x0, d0]
    // CHECK-NEXT: [-0.999978, -0.995322, -0.842701,  0.      ],
    erf f32 [0x170, d0], [0x0, d0]
    // CHECK-NEXT: [-0.14112 , -0.909297, -0.841471,  0.      ],
    sin f32 [0x180, d0], [0x0, d0]
    // CHECK-NEXT: [-0.989992, -0.416147,  0.540302,  1.      ],
    cos f32 [0x190, d0], [0x0, d0]
    // CHECK-NEXT: [ 0.      ,  0.693147,  1.098612,  1.386294],
    log f32 [0x1a0, d0], [0x40, d0]
    // CHECK-NEXT: [ 1.      ,  1.414214,  1.732051,  2.      ],
    sqrt f32 [0x1b0, d0], [0x40, d0]
    // CHECK-NEXT: [ 1.      ,  0.707107,  0.57735 ,  0.5     ],
    rsqrt f32 [0x1c0, d0], [0x40, d0]
    // CHECK-NEXT: [ 1.      ,  0.5     ,  0.333333,  0.25    ],
    rcp f32 [0x1d0, d0], [0x40, d0]
    // CHECK-NEXT: [-3.      , -2.      , -1.      ,  0.      ],
    floor f32 [0x1e0, d0], [0x80, d0]
    // CHECK-NEXT: [-2.      , -1.      , -0.      ,  0.      ],
    ceil f32 [0x1f0, d0], [0x80, d0]
    // CHECK-NEXT: [-2.      , -2.      , -1.      ,  0.      ]]
    round f32 [0x200, d0], [0x80, d0] signal(store)
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
    ctl.d2h dram = 0x40, host = 0x40 tag(1) bytes(272)
    ctl.wait tag(1)
    ctl.halt
  }
}
