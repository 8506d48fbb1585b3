// RUN: meshloom-opt %s -p dataflow-to-manycore --verify-diagnostics --split-input-file
// RUN: not meshloom-opt %s -p dataflow-unroll-loops --split-input-file 2>&1 | filecheck %s

// Every core needs the number of steps, and nothing says how many cores there are.
// CHECK: the number of steps of a loop is known at run time only, so it cannot be unrolled for --calibrate or passes that cut or encode operations: give a fixed number with --shape or --value
func.func @main(%n: tensor<i64>, %h0: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{pass 'dataflow-to-manycore': the number of steps of a loop is known at run time only, and every core needs it: name the chip in module attribute manycore.chip}}
  %last = dataflow.loop 12 steps count(%n : tensor<i64>) carry(%h = %h0 : tensor<4xf32>) {
    %s = dataflow.add %h, %h : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %next = dataflow.tanh %s : (tensor<4xf32>) -> tensor<4xf32>
    dataflow.yield %next : tensor<4xf32>
  }
  func.return %last : tensor<4xf32>
}
