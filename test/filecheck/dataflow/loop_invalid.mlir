// RUN: meshloom-opt %s --verify-diagnostics --split-input-file

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{it has -1 steps: expected 0 or more}}
"dataflow.loop"(%x) <{steps = -1 : i64, scan_axes = array<i64>, scan_backwards = array<i64>, stack_axes = array<i64>, stack_backwards = array<i64>, operandSegmentSizes = array<i32: 1, 0, 0>}> ({
^bb0(%h: tensor<4xf32>):
  dataflow.yield %h : tensor<4xf32>
}) : (tensor<4xf32>) -> tensor<4xf32>

// -----

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{scan_axes = [] should have 1 entries, one for each scanned value}}
"dataflow.loop"(%x) <{steps = 4 : i64, scan_axes = array<i64>, scan_backwards = array<i64: 0>, stack_axes = array<i64>, stack_backwards = array<i64>, operandSegmentSizes = array<i32: 0, 1, 0>}> ({
^bb0(%row: tensor<f32>):
  dataflow.yield
}) : (tensor<4xf32>) -> ()

// -----

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{tensor<4xf32> is scanned along axis 1: it has 1 axes}}
"dataflow.loop"(%x) <{steps = 4 : i64, scan_axes = array<i64: 1>, scan_backwards = array<i64: 0>, stack_axes = array<i64>, stack_backwards = array<i64>, operandSegmentSizes = array<i32: 0, 1, 0>}> ({
^bb0(%row: tensor<f32>):
  dataflow.yield
}) : (tensor<4xf32>) -> ()

// -----

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{expected a tensor with axis 1}}
dataflow.loop 4 steps scan(%row = %x axis 1 : tensor<4xf32>) {
  dataflow.yield
}

// -----

%x = "test.op"() : () -> tensor<4x5xf32>
// expected-error@+1 {{tensor<4x5xf32> is scanned along axis 1, where it has 5 values: expected one for each of 4 steps}}
dataflow.loop 4 steps scan(%row = %x axis 1 : tensor<4x5xf32>) {
  dataflow.yield
}

// -----

%x = "test.op"() : () -> tensor<4x5xf32>
// expected-error@+1 {{the body takes (tensor<4xf32>): expected (tensor<5xf32>)}}
"dataflow.loop"(%x) <{steps = 4 : i64, scan_axes = array<i64: 0>, scan_backwards = array<i64: 0>, stack_axes = array<i64>, stack_backwards = array<i64>, operandSegmentSizes = array<i32: 0, 1, 0>}> ({
^bb0(%row: tensor<4xf32>):
  dataflow.yield
}) : (tensor<4x5xf32>) -> ()

// -----

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{the body should end with dataflow.yield}}
%y = dataflow.loop 4 steps carry(%h = %x : tensor<4xf32>) {
  "test.termop"(%h) : (tensor<4xf32>) -> ()
}

// -----

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{the body contains test.op, which has side effects: expected operations without}}
%y = dataflow.loop 4 steps carry(%h = %x : tensor<4xf32>) {
  %next = "test.op"(%h) : (tensor<4xf32>) -> tensor<4xf32>
  dataflow.yield %next : tensor<4xf32>
}

// -----

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{the body yields 0 values: expected 1}}
%y = dataflow.loop 4 steps carry(%h = %x : tensor<4xf32>) {
  dataflow.yield
}

// -----

%x = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{carried value 0 begins as tensor<4xf32>, the body yields tensor<2x2xf32>}}
%y = dataflow.loop 4 steps carry(%h = %x : tensor<4xf32>) {
  %next = dataflow.reshape %h : (tensor<4xf32>) -> tensor<2x2xf32>
  dataflow.yield %next : tensor<2x2xf32>
}

// -----

%x = "test.op"() : () -> tensor<4x5xf32>
// expected-error@+1 {{values of tensor<5xf32> are stacked along axis 2: expected 1 at most}}
%y = dataflow.loop 4 steps scan(%row = %x axis 0 : tensor<4x5xf32>) stack(axis 2 : tensor<5x4xf32>) {
  dataflow.yield %row : tensor<5xf32>
}

// -----

%x = "test.op"() : () -> tensor<4x5xf32>
// expected-error@+1 {{results have types (tensor<3x5xf32>): expected (tensor<4x5xf32>)}}
%y = dataflow.loop 4 steps scan(%row = %x axis 0 : tensor<4x5xf32>) stack(axis 0 : tensor<3x5xf32>) {
  dataflow.yield %row : tensor<5xf32>
}

// -----

func.func @f() {
  // expected-error@+1 {{'dataflow.yield' expects parent op 'dataflow.loop'}}
  dataflow.yield
}

// -----

%n = "test.op"() : () -> tensor<i32>
// expected-error@+1 {{the count of steps has type tensor<i32>: expected tensor<i64>, or one for each core}}
dataflow.loop 4 steps count(%n : tensor<i32>) {
  dataflow.yield
}

// -----

%go = "test.op"() : () -> tensor<2x2xi1>
// expected-error@+1 {{the last value that the body yields has type tensor<2x2xi1>: expected tensor<i1>, or one for each core}}
dataflow.loop 4 steps while {
  dataflow.yield %go : tensor<2x2xi1>
}

// -----

// expected-error@+1 {{the body yields 0 values: expected 1}}
dataflow.loop 4 steps while {
  dataflow.yield
}

// -----

%go, %x = "test.op"() : () -> (tensor<i1>, tensor<4xf32>)
// expected-error@+1 {{it scans or stacks backwards, but its number of steps is known at run time only}}
dataflow.loop 4 steps while scan(%row = %x axis 0 backwards : tensor<4xf32>) {
  dataflow.yield %go : tensor<i1>
}

// -----

// expected-error@+1 {{it must end by a condition, but has none: expected 'while ends'}}
"dataflow.loop"() <{steps = 4 : i64, scan_axes = array<i64>, scan_backwards = array<i64>, stack_axes = array<i64>, stack_backwards = array<i64>, must_end, operandSegmentSizes = array<i32: 0, 0, 0>}> ({
  dataflow.yield
}) : () -> ()

// -----

%n = "test.op"() : () -> tensor<i64>
// expected-error@+1 {{groups of 3 steps do not divide 4 masked steps}}
dataflow.loop 4 steps count(%n : tensor<i64>) masked in 3 {
  dataflow.yield
}

// -----

%n, %go = "test.op"() : () -> (tensor<i64>, tensor<i1>)
// expected-error@+1 {{it masks the steps after a count: expected 'count', without a condition}}
dataflow.loop 4 steps count(%n : tensor<i64>) masked while {
  dataflow.yield %go : tensor<i1>
}
