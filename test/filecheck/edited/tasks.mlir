// What is edited above `memory` decides the instructions: the cores of a task, its steps, the order of tasks, a subgraph.

// As it is: one launch, both tasks on cores 0 and 1, in one step.
// RUN: meshloom-opt %s -p manycore-autotune,manycore-to-memory,memory-to-coreasm | filecheck %s --check-prefix PLAIN
// RUN: meshloom-opt %s -t 'emulate{inputs=iota}' | filecheck %s --check-prefix VALUES

// The first task on other cores.
// RUN: sed '/^    %y = /,/prefetch/s/cores = .0, 1./cores = [3, 2]/' %s > %t.cores.mlir
// RUN: meshloom-opt %t.cores.mlir -p manycore-autotune,manycore-to-memory,memory-to-coreasm \
// RUN:   | filecheck %s --check-prefix CORES
// RUN: meshloom-opt %t.cores.mlir -t 'emulate{inputs=iota}' | filecheck %s --check-prefix VALUES

// The first task in two steps: each loads, computes and stores half as much, twice.
// RUN: sed '/^    %y = /,/prefetch/s/steps = .1, 1./steps = [2, 1]/' %s > %t.steps.mlir
// RUN: meshloom-opt %t.steps.mlir -p manycore-autotune,manycore-to-memory,memory-to-coreasm \
// RUN:   | filecheck %s --check-prefix STEPS
// RUN: meshloom-opt %t.steps.mlir -t 'emulate{inputs=iota}' | filecheck %s --check-prefix VALUES

// The tasks in the other order (lines of `@first` go behind those of `@second`).
// RUN: sed -e '/^    %y = /,/^    }/{H;d;}' -e '/^    func.return/{x;G;}' %s > %t.order.mlir
// RUN: meshloom-opt %t.order.mlir -p manycore-autotune,manycore-to-memory,memory-to-coreasm \
// RUN:   | filecheck %s --check-prefix ORDER
// RUN: meshloom-opt %t.order.mlir -t 'emulate{inputs=iota}' | filecheck %s --check-prefix VALUES

// Each task a subgraph: a launch for each.
// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=named names=y}' -o %t.two.mlir
// RUN: filecheck %s --check-prefix SUBGRAPHS --input-file %t.two.mlir
// RUN: meshloom-opt %t.two.mlir -p manycore-autotune,manycore-to-memory,memory-to-coreasm \
// RUN:   | filecheck %s --check-prefix LAUNCHES
// RUN: meshloom-opt %t.two.mlir -t 'emulate{inputs=iota}' | filecheck %s --check-prefix VALUES

// PLAIN:      relu f32
// PLAIN:      neg f32
// PLAIN:      .run "launch0.0" cores 0 params
// PLAIN-NEXT: .run "launch0.0" cores 1 params
// PLAIN-NEXT: .run "idle" cores 2 to 3

// CORES:      neg f32
// CORES:      relu f32
// CORES:      .run "launch0.{{[01]}}" cores 3 params 0, 256
// CORES-NOT:  "idle"

// STEPS:      relu f32
// STEPS:      relu f32
// STEPS:      neg f32

// ORDER:      neg f32
// ORDER:      relu f32

// SUBGRAPHS-COUNT-2: manycore.subgraph
// LAUNCHES:   coreasm.launch
// LAUNCHES:   coreasm.launch
// LAUNCHES:   ctl.launch launch(0)
// LAUNCHES:   ctl.launch launch(1)

// iota counts -3 to 3 and begins again.
// VALUES:      y: {{.*}} = {{\[\[}}0., 0., 0., 0., 1., 2., 3., 0.],
// VALUES-NEXT: [0., 0., 0., 1., 2., 3., 0., 0.],
// VALUES:      z: {{.*}} = {{\[\[}} 3.,  2.,  1., -0., -1., -2., -3.,  3.],
// VALUES-NEXT: [ 2.,  1., -0., -1., -2., -3.,  3.,  2.],
builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: tensor<8x8xf32> {dataflow.name = "x"})
      -> (tensor<8x8xf32> {dataflow.name = "y"}, tensor<8x8xf32> {dataflow.name = "z"}) {
    %y = manycore.task @first(%a = %x : tensor<8x8xf32>) -> tensor<8x8xf32>
        in dram tiled <grid = [2, 1], cores = [0, 1], steps = [1, 1], order = [0, 1]> prefetch 0 {
      %0 = dataflow.relu %a : (tensor<8x8xf32>) -> tensor<8x8xf32>
      manycore.yield %0 : tensor<8x8xf32>
    }
    %z = manycore.task @second(%a = %x : tensor<8x8xf32>) -> tensor<8x8xf32>
        in dram tiled <grid = [2, 1], cores = [0, 1], steps = [1, 1], order = [0, 1]> prefetch 0 {
      %0 = dataflow.neg %a : (tensor<8x8xf32>) -> tensor<8x8xf32>
      manycore.yield %0 : tensor<8x8xf32>
    }
    func.return %y, %z : tensor<8x8xf32>, tensor<8x8xf32>
  }
}
