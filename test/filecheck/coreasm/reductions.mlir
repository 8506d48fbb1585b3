// Reductions, dot products and running sums on the vector unit.

// RUN: meshloom-opt %s -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p coreasm-unpack | meshloom-opt -p coreasm-pack -t 'interpret{inputs=iota}' | filecheck %s

module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.tensor input "x" f32 [12] dram 0x0 bytes 48 host 0x0
  coreasm.tensor output "y" f32 [11, 4] dram 0x40 bytes 176 host 0x40
  coreasm.program @main {
    .desc [4] [4]
    .desc [44] [4]
    // x = -3 -2 -1, 0 1 2, 3 -3 -2, -1 0 1, reduced along its rows.
    .desc [4, 3] [12, 4]
    .desc [12] [4]
    load f32 [0x0, d3], dram[0x0, d3] signal(vpu)
    // CHECK: y: {{.*\[\[ *}}-1. ,  2. ,  3. ,  1. ],
    reduce.max f32 [0x100, d0], [0x0, d2] reduce(1) wait(load)
    // CHECK-NEXT: [-3. ,  0. , -3. , -1. ],
    reduce.min f32 [0x110, d0], [0x0, d2] reduce(1)
    // CHECK-NEXT: [-6. ,  0. , 18. , -0. ],
    reduce.prod f32 [0x120, d0], [0x0, d2] reduce(1)
    // CHECK-NEXT: [-6. ,  3. , -2. ,  0. ],
    reduce.sum f32 [0x130, d0], [0x0, d2] reduce(1)
    // CHECK-NEXT: [14. ,  5. , 22. ,  2. ],
    dot f32 [0x140, d0], [0x0, d2], [0x0, d2] reduce(1)
    // CHECK-NEXT: [-5.5,  3.5, -1.5,  0.5],
    mov f32 [0x150, d0], 0.5
    reduce.sum.acc f32 [0x150, d0], [0x0, d2] reduce(1)
    // CHECK-NEXT: [ 0.5,  2. ,  3. ,  1. ],
    mov f32 [0x160, d0], 0.5
    reduce.max.acc f32 [0x160, d0], [0x0, d2] reduce(1)
    // CHECK-NEXT: [-3. ,  0. , -3. , -1. ],
    mov f32 [0x170, d0], 0.5
    reduce.min.acc f32 [0x170, d0], [0x0, d2] reduce(1)
    // CHECK-NEXT: [-3. ,  0. ,  9. , -0. ],
    mov f32 [0x180, d0], 0.5
    reduce.prod.acc f32 [0x180, d0], [0x0, d2] reduce(1)
    // CHECK-NEXT: [14.5,  5.5, 22.5,  2.5],
    mov f32 [0x190, d0], 0.5
    dot.acc f32 [0x190, d0], [0x0, d2], [0x0, d2] reduce(1)
    // CHECK-NEXT: [-3. , -5. , -6. , -6. ]]
    cumsum f32 [0x1a0, d0], [0x0, d0] signal(store)
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
    ctl.h2d dram = 0x0, host = 0x0 tag(0) bytes(48)
    ctl.wait tag(0)
    ctl.launch launch(0)
    ctl.join launch(0)
    ctl.d2h dram = 0x40, host = 0x40 tag(1) bytes(176)
    ctl.wait tag(1)
    ctl.halt
  }
}
