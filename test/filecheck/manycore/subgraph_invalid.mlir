// RUN: meshloom-opt %s --split-input-file --verify-diagnostics

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{the body has arguments tensor<2xf32>: expected the operands' types, tensor<4xf32>}}
%y = "manycore.subgraph"(%x) <{sym_name = "s"}> ({
^bb0(%a: tensor<2xf32>):
  %0 = dataflow.relu %a : (tensor<2xf32>) -> tensor<2xf32>
  manycore.yield %0 : tensor<2xf32>
}) : (tensor<4xf32>) -> tensor<2xf32>

// -----

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{manycore.yield should have one value of the same type for each result}}
%y = manycore.subgraph @s(%a = %x : tensor<4xf32>) -> tensor<2xf32> {
  manycore.yield %a : tensor<4xf32>
}

// -----

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{the body should end with manycore.yield}}
manycore.subgraph @s(%a = %x : tensor<4xf32>) -> () {
  "test.termop"() : () -> ()
}

// -----

%x = "test.op"() : () -> tensor<4xf32>
%y = manycore.subgraph @outer(%a = %x : tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{is nested in subgraph 'outer': expected no nesting}}
  %z = manycore.subgraph @inner(%b = %a : tensor<4xf32>) -> tensor<4xf32> {
    manycore.yield %b : tensor<4xf32>
  }
  manycore.yield %z : tensor<4xf32>
}

// -----

%x = "test.op"() : () -> index
// expected-error@+1 {{operand or result 0 has type index: expected a ranked tensor}}
%y = manycore.subgraph @s(%a = %x : index) -> index {
  manycore.yield %a : index
}

// -----

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{Operation using value defined out of its IsolatedFromAbove parent}}
%y = manycore.subgraph @s() -> tensor<4xf32> {
  %0 = dataflow.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  manycore.yield %0 : tensor<4xf32>
}

// -----

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{gives memories for 2 results: expected one for each of its 1}}
%y = manycore.subgraph @s(%a = %x : tensor<4xf32>) -> tensor<4xf32> in [dram, host] {
  manycore.yield %a : tensor<4xf32>
}

// -----

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{sram is not preserved between subgraphs: expected dram or host}}
%y = manycore.subgraph @s(%a = %x : tensor<4xf32>) -> tensor<4xf32> weights in sram {
  manycore.yield %a : tensor<4xf32>
}
