// RUN: meshloom-opt %s -p dataflow-note-loops | filecheck %s
// RUN: meshloom-opt %s -p dataflow-note-loops,dataflow-note-loops,dataflow-unroll-loops | filecheck %s --check-prefix AFTER
// RUN: meshloom-opt %s -p dataflow-note-loops --check-semantics 2>&1 | filecheck %s --check-prefix SAME

// SAME: check-semantics: dataflow-note-loops kept all results

// Of two loops that do not wait for each other: 5 steps, 2 * 16 bytes of weights, 2 * 16 bytes that products read, and a
// chain of 4 elements in 1 pass and 4 elements in 4 passes for each of them. The note stays where it is.
// CHECK: builtin.module attributes {manycore.notes = {loops = "{{\[\[}}5, 32, 32, {{\[\[}}4, 1, 1, []], [4, 4, 1, [0]], [4, 1, 1, []], [4, 4, 1, [2]]]]]"}}
// CHECK-COUNT-2: dataflow.loop 5 steps
// AFTER: builtin.module attributes {manycore.notes = {loops = "{{\[\[}}5, 32, 32
// AFTER-NOT: dataflow.loop
func.func @main(%x: tensor<5x2x2xf32>, %w: tensor<2x2xf32>, %h0: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %a = dataflow.loop 5 steps carry(%h = %h0 : tensor<2x2xf32>) scan(%row = %x axis 0 : tensor<5x2x2xf32>) {
    %p = dataflow.matmul %h, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %s = dataflow.add %p, %row : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %t = dataflow.tanh %s : (tensor<2x2xf32>) -> tensor<2x2xf32>
    dataflow.yield %t : tensor<2x2xf32>
  }
  %b = dataflow.loop 5 steps carry(%h = %h0 : tensor<2x2xf32>) scan(%row = %x axis 0 backwards : tensor<5x2x2xf32>) {
    %p = dataflow.matmul %h, %w : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %s = dataflow.add %p, %row : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %t = dataflow.tanh %s : (tensor<2x2xf32>) -> tensor<2x2xf32>
    dataflow.yield %t : tensor<2x2xf32>
  }
  func.return %a, %b : tensor<2x2xf32>, tensor<2x2xf32>
}
