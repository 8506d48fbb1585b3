// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile --check-semantics | filecheck %s --check-prefix TASKS
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory --check-semantics | filecheck %s --check-prefix MEMORY
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory | meshloom-opt --print-op-generic | meshloom-opt | filecheck %s --check-prefix MEMORY
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory,memory-to-coreasm --check-semantics | filecheck %s --check-prefix CODE
// RUN: meshloom-opt %s -p dataflow-unroll-loops --check-semantics | filecheck %s --check-prefix UNROLLED

// Steps behind the count change nothing, so all steps of a group run, and only groups end with idle units. It may be
// unrolled.

// TASKS: manycore.task @groups(
// TASKS:   dataflow.div
// TASKS: dataflow.loop 12 steps count(%count : tensor<4xi64>) masked in 6 carry

// MEMORY: manycore.repeat 12 times count(%count : !memory.buffer<1xi64, sram, {{[0-9]+}}>) in 6 (

// CODE:     loop.r most = 2 r1
// CODE-COUNT-6: select
// CODE:       drain
// CODE:       addi increment = 48 r15
// CODE-NEXT:  addi increment = 192 r14

// UNROLLED-NOT:      dataflow.loop
// UNROLLED-COUNT-12: dataflow.select

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%length: tensor<1xi64>, %x: tensor<12x1x8xf32>, %h0: tensor<1x8xf32>) -> tensor<1x8xf32> {
    %twelve = dataflow.constant dense<12> : tensor<1xi64>
    %least = dataflow.minimum %length, %twelve : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
    %n = dataflow.reshape %least : (tensor<1xi64>) -> tensor<i64>
    %numbers = dataflow.iota axis 0 : tensor<12xi64>
    %last = dataflow.loop 12 steps count(%n : tensor<i64>) masked carry(%h = %h0 : tensor<1x8xf32>) scan(%row = %x axis 0 : tensor<12x1x8xf32>, %i = %numbers axis 0 : tensor<12xi64>) {
      %s = dataflow.add %h, %row : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
      %alive = dataflow.compare lt %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
      %one = dataflow.reshape %alive : (tensor<i1>) -> tensor<1x1xi1>
      %next = dataflow.select %one, %s, %h : (tensor<1x1xi1>, tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
      dataflow.yield %next : tensor<1x8xf32>
    }
    func.return %last : tensor<1x8xf32>
  }
}
