// RUN: meshloom-opt %s --split-input-file --verify-diagnostics

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<4x8xf32>
  // expected-error@+1 {{expected equally many}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> tiled <grid = [1, 1], cores = [0], steps = [1], order = [0, 1]> {
    %0 = dataflow.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    manycore.yield %0 : tensor<4x8xf32>
  }
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<4x8xf32>
  // expected-error@+1 {{should be at least 1 everywhere}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> tiled <grid = [1, 0], cores = [0], steps = [1, 1], order = [0, 1]> {
    %0 = dataflow.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    manycore.yield %0 : tensor<4x8xf32>
  }
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<4x8xf32>
  // expected-error@+1 {{order = [0, 0] should be a permutation of the 2 dimensions}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 0]> {
    %0 = dataflow.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    manycore.yield %0 : tensor<4x8xf32>
  }
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<4x8xf32>
  // expected-error@+1 {{the grid has 2 tiles but cores has 1 entries: expected one a tile}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> tiled <grid = [1, 2], cores = [0], steps = [1, 1], order = [0, 1]> {
    %0 = dataflow.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    manycore.yield %0 : tensor<4x8xf32>
  }
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<4x8xf32>
  // expected-error@+1 {{cores = [1, 1] should be distinct core numbers}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> tiled <grid = [1, 2], cores = [1, 1], steps = [1, 1], order = [0, 1]> {
    %0 = dataflow.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    manycore.yield %0 : tensor<4x8xf32>
  }
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<4x8xf32>
  // expected-error@+1 {{multiples = [1, 0] should be 2 numbers of at least 1}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> tiled <grid = [1, 2], cores = [1, 0], steps = [1, 1], order = [0, 1], multiples = [1, 0]> {
    %0 = dataflow.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    manycore.yield %0 : tensor<4x8xf32>
  }
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<4x8xf32>
  // expected-error@+1 {{multiples = 3 in dimension 1, which has size 8: expected a divisor of it}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> tiled <grid = [1, 2], cores = [1, 0], steps = [1, 1], order = [0, 1], multiples = [1, 3]> {
    %0 = dataflow.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    manycore.yield %0 : tensor<4x8xf32>
  }
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<4x8xf32>
  // expected-error@+1 {{the tiling has rank 1: expected 2, the iteration space of 'dataflow.relu'}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> tiled <grid = [1], cores = [0], steps = [1], order = [0]> {
    %0 = dataflow.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    manycore.yield %0 : tensor<4x8xf32>
  }
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<4x8xf32>
  // expected-error@+1 {{core 7 is not usable on chip 'tiny' of 4 cores, 4 of them usable}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> tiled <grid = [1, 2], cores = [0, 7], steps = [1, 1], order = [0, 1]> {
    %0 = dataflow.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    manycore.yield %0 : tensor<4x8xf32>
  }
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<4x8xf32>
  // expected-error@+1 {{grid = 2 in dimension 1, which is reduction: expected 1}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf32>) -> tensor<4x1xf32> tiled <grid = [1, 2], cores = [0, 1], steps = [1, 1], order = [0, 1]> {
    %0 = dataflow.reduce sum %a axes [1] : (tensor<4x8xf32>) -> tensor<4x1xf32>
    manycore.yield %0 : tensor<4x1xf32>
  }
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<4x8xf32>
  // expected-error@+1 {{should hold at least one operation before manycore.yield}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 1]> {
    manycore.yield %a : tensor<4x8xf32>
  }
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<4x8xf32>
  // expected-error@+1 {{manycore.yield returns an argument}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 1]> {
    %0 = dataflow.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    manycore.yield %a : tensor<4x8xf32>
  }
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<4x8xf32>
  // expected-error@+1 {{manycore.yield should have one value of the same type for each result}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf16> tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 1]> {
    %0 = dataflow.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    manycore.yield %0 : tensor<4x8xf32>
  }
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<4x8xf32>
  // expected-error@+1 {{'dataflow.transpose' follows the root: expected elementwise operations and slices only}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf32>) -> tensor<8x4xf32> tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 1]> {
    %0 = dataflow.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = dataflow.transpose %0 [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
    manycore.yield %1 : tensor<8x4xf32>
  }
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<4x8xf32>
  // expected-error@+1 {{a slice of a value of the body follows the root: expected one of an operand}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 1]> {
    %0 = dataflow.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = dataflow.slice %0 starts [3, 0] sizes [4, 8] steps [-1, 1] : (tensor<4x8xf32>) -> tensor<4x8xf32>
    manycore.yield %1 : tensor<4x8xf32>
  }
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x, %w = "test.op"() : () -> (tensor<8x4xf32>, tensor<4x4xf32>)
  // expected-error@+1 {{value 1 of manycore.yield does not depend on the root, 'dataflow.matmul'}}
  %y, %z = manycore.task @t(%a = %x : tensor<8x4xf32>, %b = %w : tensor<4x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) tiled <grid = [1, 1, 1], cores = [0], steps = [1, 1, 1], order = [0, 1, 2]> {
    %0 = dataflow.matmul %a, %b : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %1 = dataflow.relu %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
    manycore.yield %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
  }
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<4x8xf32>
  // expected-error@+1 {{steps = 5 in dimension 0, which has size 4: expected no more}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> tiled <grid = [1, 1], cores = [0], steps = [5, 1], order = [0, 1]> {
    %0 = dataflow.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    manycore.yield %0 : tensor<4x8xf32>
  }
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<4x8xf32>
  // expected-error@+1 {{prefetch of 3 steps: expected 1 to the task's 2}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> tiled <grid = [1, 1], cores = [0], steps = [2, 1], order = [0, 1]> prefetch 1 steps 3 {
    %0 = dataflow.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    manycore.yield %0 : tensor<4x8xf32>
  }
}

// -----

func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error@+1 {{keeps [1, 0]: expected numbers of the 1 operands, ascending}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> tiled <grid = [1, 1], cores = [0], steps = [2, 1], order = [0, 1]> keeps [1, 0] {
    %0 = dataflow.neg %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    manycore.yield %0 : tensor<4x8xf32>
  }
  func.return %y : tensor<4x8xf32>
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<4x8xf32>
  // expected-error@+1 {{prefetch -1: expected 0 tasks or more}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> tiled <grid = [1, 1], cores = [0], steps = [2, 1], order = [0, 1]> prefetch -1 {
    %0 = dataflow.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    manycore.yield %0 : tensor<4x8xf32>
  }
}

// -----

// expected-error@+1 {{no chip named 'huge': choose one of}}
builtin.module attributes {manycore.chip = #manycore.chip<"huge">} {
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<4x8xf32>
  // expected-error@+1 {{a constant of tensor<4x1xf32> has different elements: expected an operand}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 1]> {
    %c = dataflow.constant dense<[[1.0], [2.0], [2.0], [2.0]]> : tensor<4x1xf32>
    %0 = dataflow.add %a, %c : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    manycore.yield %0 : tensor<4x8xf32>
  }
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<4x8xf64>
  // expected-error@+1 {{0.1 does not fit into the 32 bits of an immediate: expected an operand}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf64>) -> tensor<4x8xf64> tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 1]> {
    %c = dataflow.constant dense<0.1> : tensor<f64>
    %0 = dataflow.add %a, %c : (tensor<4x8xf64>, tensor<f64>) -> tensor<4x8xf64>
    manycore.yield %0 : tensor<4x8xf64>
  }
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<2x8xf32>
  // expected-error@+1 {{'dataflow.concat' uses a constant of the body: expected an operand of the task, as only elementwise operations have immediates}}
  %y = manycore.task @t(%a = %x : tensor<2x8xf32>) -> tensor<4x8xf32> tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 1]> {
    %c = dataflow.constant dense<1.0> : tensor<2x8xf32>
    %0 = dataflow.concat %a, %c axis 0 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<4x8xf32>
    manycore.yield %0 : tensor<4x8xf32>
  }
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  %x = "test.op"() : () -> tensor<4x8xf32>
  // expected-error@+1 {{'dataflow.exp' uses constants of the body only: fold it to a constant}}
  %y = manycore.task @t(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 1]> {
    %c = dataflow.constant dense<1.0> : tensor<4x8xf32>
    %d = dataflow.exp %c : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %0 = dataflow.add %a, %d : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    manycore.yield %0 : tensor<4x8xf32>
  }
}
