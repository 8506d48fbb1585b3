// A network on two chips: it prints and parses, runs at every level, and goes down to the instructions of both.
// RUN: meshloom-opt %s | meshloom-opt | filecheck %s
// RUN: meshloom-opt %s --print-op-generic | meshloom-opt | filecheck %s
// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s --check-prefix=VALUES
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory | filecheck %s --check-prefix=MEMORY
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory -t 'interpret{inputs=iota}' \
// RUN:   | filecheck %s --check-prefix=VALUES
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory,memory-to-coreasm \
// RUN:   | filecheck %s --check-prefix=COREASM
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory,memory-to-coreasm \
// RUN:   -t 'emulate{inputs=iota}' | filecheck %s --check-prefix=VALUES
// RUN: meshloom-opt %s -t 'emulate{inputs=iota cycles=true}' | filecheck %s --check-prefixes=VALUES,CYCLES

// The second stage reads what the first one gives, in another shape, and an input of the network.
builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: tensor<2x4xf32> {dataflow.name = "x"}, %y: tensor<8xf32> {dataflow.name = "y"})
      -> (tensor<8xf32> {dataflow.name = "sum"}) {
    %r = manycore.stage @first(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %f = dataflow.reshape %r : (tensor<2x4xf32>) -> tensor<8xf32>
    %s = manycore.stage @second(%f, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    func.return %s : tensor<8xf32>
  }
  builtin.module @first attributes {manycore.chip = #manycore.chip<"tiny">} {
    func.func @main(%a: tensor<2x4xf32>) -> (tensor<2x4xf32> {dataflow.name = "relu"}) {
      %0 = dataflow.relu %a : (tensor<2x4xf32>) -> tensor<2x4xf32>
      func.return %0 : tensor<2x4xf32>
    }
  }
  builtin.module @second attributes {manycore.chip = #manycore.chip<"tiny">} {
    func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32> {dataflow.name = "sum"}) {
      %0 = dataflow.add %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
      func.return %0 : tensor<8xf32>
    }
  }
}

// CHECK:      %r = manycore.stage @first(%x) : (tensor<2x4xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %f = dataflow.reshape %r
// CHECK-NEXT: %s = manycore.stage @second(%f, %y) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
// CHECK:      builtin.module @first attributes
// CHECK:      builtin.module @second attributes

// iota counts -3 to 3 and begins again: x is -3 -2 -1 0 1 2 3 -3, and so is y; relu(x) is 0 0 0 0 1 2 3 0.
// VALUES: sum: tensor<8xf32> = [-3., -2., -1.,  0.,  2.,  4.,  6., -3.]
// CYCLES: cycles: {{[0-9]+}}, one input every {{[0-9]+}}

// MEMORY:     %s = manycore.stage @second(%f, %y)
// MEMORY:     builtin.module @first
// MEMORY:     manycore.launch @all
// MEMORY:     builtin.module @second
// MEMORY:     manycore.launch @all

// COREASM:     %s = manycore.stage @second(%f, %y)
// COREASM:     builtin.module @first
// COREASM:     coreasm.controller
// COREASM:     builtin.module @second
// COREASM:     coreasm.controller
