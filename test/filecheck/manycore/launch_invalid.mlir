// RUN: meshloom-opt %s --split-input-file --verify-diagnostics

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      // expected-error@+1 {{'memory.load' for @nge: there is no such task in the launch}}
      memory.load %x to %r, %q for @nge[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      // expected-error@+1 {{'memory.load' for @neg: reads [1]: the task has 1 reads}}
      memory.load %x to %r, %q for @neg[1] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      // expected-error@+1 {{'memory.load' for @neg: its targets are not the buffers that the task has for reads [0]}}
      memory.load %x to %q, %r for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 64>, !memory.buffer<2x4xf32, sram, 0>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      // expected-error@+1 {{'memory.load' for @neg: its source is not the operand of read 0}}
      memory.load %y to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 128> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      // expected-error@+1 {{'memory.load' for @neg: step 2: the task has 2 steps}}
      memory.load %x to %r, %q for @neg[0] step 2 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      // expected-error@+1 {{'memory.load' for @neg: step +2: the task has 2 steps}}
      memory.load %x to %r, %q for @neg[0] step +2 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      // expected-error@+1 {{'memory.load' for @neg: a relative step belongs in the 'steps' of its own task}}
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    // expected-error@+1 {{'steps' computes 0 times: expected manycore.compute once}}
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      // expected-error@+1 {{'last' computes 2 times: expected manycore.compute once}}
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      // expected-error@+1 {{'memory.store' in 'begin': it belongs to a step}}
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    // expected-error@+1 {{'steps' has no memory.store: the result, !memory.buffer<8x4xf32, dram, 128>, would not be written}}
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      // expected-error@+1 {{stores from other buffers than the staging of @neg}}
      memory.store %q to %y : !memory.buffer<2x4xf32, sram, 64> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      // expected-error@+1 {{stores to another buffer than @neg writes}}
      memory.store %s to %x : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 0>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
      // expected-error@+1 {{'steps' stores the result 2 times: expected once}}
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    // expected-error@+1 {{'steps' is for all steps but the last: the task has one step}}
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [1, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      // expected-error@+1 {{'memory.alloc' in a schedule: expected transfers and manycore.compute}}
      %z = memory.alloc : !memory.buffer<2x4xf32, sram, 192>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    // expected-error@+1 {{a result in dram needs staging}}
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %q to %y : !memory.buffer<2x4xf32, sram, 64> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %q to %y : !memory.buffer<2x4xf32, sram, 64> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    // expected-error@+1 {{@neg uses one buffer for two purposes: expected one for each}}
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%q : !memory.buffer<2x4xf32, sram, 64>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %o = memory.alloc : !memory.buffer<2x4xf32, sram, 192>
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    // expected-error@+1 {{@neg uses !memory.buffer<2x4xf32, sram, 192>, which is not allocated in its launch}}
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%o : !memory.buffer<2x4xf32, sram, 192>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %o to %y : !memory.buffer<2x4xf32, sram, 192> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %o to %y : !memory.buffer<2x4xf32, sram, 192> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
    // expected-error@+1 {{two tasks are named @neg: names of tasks are unique in a launch}}
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
    // expected-error@+1 {{@again writes the buffer that @neg writes: expected a separate one}}
    manycore.execute @again(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @again[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @again[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    // expected-error@+1 {{slots = [1] should add up to the 2 buffers of reads}}
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [1] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    // expected-error@+1 {{uses = [1] should give one of 1 reads to each of 1 uses}}
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [1] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    // expected-error@+1 {{read 1 has no use}}
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2, 0] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>, %z: !memory.buffer<8x4xf32, dram, 256>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    // expected-error@+1 {{read 0 has uses that need other slices: expected a read for each of them}}
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>, %b = %z : !memory.buffer<8x4xf32, dram, 256> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0, 0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.add %a, %b : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    // expected-error@+1 {{writes = [1] should give a buffer for each of 1 operations}}
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [1]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x1xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    // expected-error@+1 {{grid = 2 in dimension 1, which is reduction: expected 1}}
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x1xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [1, 2], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.reduce sum %a axes [1] : (tensor<8x4xf32>) -> tensor<8x1xf32>
      manycore.yield %0 : tensor<8x1xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x1xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x1xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x1xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    // expected-error@+1 {{order = [1, 0] loops over reduced dimensions outside of others: put the reduced ones last}}
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x1xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 2], order = [1, 0]> {
      %0 = dataflow.reduce sum %a axes [1] : (tensor<8x4xf32>) -> tensor<8x1xf32>
      manycore.yield %0 : tensor<8x1xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x1xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x1xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    // expected-error@+1 {{core 7 is not usable on chip 'tiny' of 4 cores, 4 of them usable}}
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 7], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, dram, 0>, %y: !memory.buffer<8x4xf32, dram, 128>) {
  %o = manycore.launch @before {
  }
  %t = manycore.launch @all {
    // expected-error@+1 {{'memory.wait' in a launch: expected buffers, loads and tasks over buffers}}
    memory.wait %o
    %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
    %q = memory.alloc : !memory.buffer<2x4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
    manycore.execute @neg(%a = %x : !memory.buffer<8x4xf32, dram, 0> as tensor<8x4xf32>)
        into %y : !memory.buffer<8x4xf32, dram, 128>
        reads(%r : !memory.buffer<2x4xf32, sram, 0>, %q : !memory.buffer<2x4xf32, sram, 64>)
        staging(%s : !memory.buffer<2x4xf32, sram, 128>) slots [2] uses [0] writes [0]
        tiled <grid = [2, 1], cores = [0, 1], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    } begin {
      memory.load %x to %r, %q for @neg[0] step 0 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
    } steps {
      memory.load %x to %r, %q for @neg[0] step +1 : !memory.buffer<8x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>, !memory.buffer<2x4xf32, sram, 64>
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<8x4xf32, dram, 128>
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%y: !memory.buffer<8xf32, dram, 0>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<4xf32, sram, 0>
    %s = memory.alloc : !memory.buffer<4xf32, sram, 64>
    // expected-error@+1 {{@second reads !memory.buffer<4xf32, sram, 0> as a whole, which no task of the launch writes}}
    manycore.execute @second(%a = %r : !memory.buffer<4xf32, sram, 0> as tensor<8xf32>)
        into %y : !memory.buffer<8xf32, dram, 0> staging(%s : !memory.buffer<4xf32, sram, 64>) slots [0] uses [0] writes [0]
        tiled <grid = [2], cores = [0, 1], steps = [1], order = [0]> {
      %0 = dataflow.neg %a : (tensor<8xf32>) -> tensor<8xf32>
      manycore.yield %0 : tensor<8xf32>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<4xf32, sram, 64> to !memory.buffer<8xf32, dram, 0>
    }
  }
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8xf32, dram, 0>, %y: !memory.buffer<6xf32, dram, 64>) {
  %t = manycore.launch @all {
    %h = memory.alloc : !memory.buffer<4xf32, sram, 0>
    %r = memory.alloc : !memory.buffer<4xf32, sram, 64>
    %s = memory.alloc : !memory.buffer<3xf32, sram, 128>
    manycore.execute @first(%a = %x : !memory.buffer<8xf32, dram, 0> as tensor<8xf32>)
        into %h : !memory.buffer<4xf32, sram, 0> reads(%r : !memory.buffer<4xf32, sram, 64>) slots [1] uses [0] writes [0]
        tiled <grid = [2], cores = [0, 1], steps = [1], order = [0]> {
      %0 = dataflow.neg %a : (tensor<8xf32>) -> tensor<8xf32>
      manycore.yield %0 : tensor<8xf32>
    } begin {
      memory.load %x to %r for @first[0] step 0 : !memory.buffer<8xf32, dram, 0> to !memory.buffer<4xf32, sram, 64>
    } last {
      manycore.compute
    }
    // expected-error@+1 {{@second reads @first's result, tensor<8xf32>, as tensor<6xf32>}}
    manycore.execute @second(%a = %h : !memory.buffer<4xf32, sram, 0> as tensor<6xf32>)
        into %y : !memory.buffer<6xf32, dram, 64> staging(%s : !memory.buffer<3xf32, sram, 128>) slots [0] uses [0] writes [0]
        tiled <grid = [2], cores = [0, 1], steps = [1], order = [0]> {
      %0 = dataflow.neg %a : (tensor<6xf32>) -> tensor<6xf32>
      manycore.yield %0 : tensor<6xf32>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<3xf32, sram, 128> to !memory.buffer<6xf32, dram, 64>
    }
  }
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8xf32, dram, 0>, %h: !memory.buffer<8xf32, dram, 64>, %y: !memory.buffer<8xf32, dram, 128>) {
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<8xf32, sram, 0>
    %s = memory.alloc : !memory.buffer<8xf32, sram, 64>
    // expected-error@+1 {{@second reads the result of @first, which comes after it}}
    manycore.execute @second(%a = %h : !memory.buffer<8xf32, dram, 64> as tensor<8xf32>)
        into %y : !memory.buffer<8xf32, dram, 128> reads(%r : !memory.buffer<8xf32, sram, 0>)
        staging(%s : !memory.buffer<8xf32, sram, 64>) slots [1] uses [0] writes [0]
        tiled <grid = [1], cores = [0], steps = [1], order = [0]> {
      %0 = dataflow.neg %a : (tensor<8xf32>) -> tensor<8xf32>
      manycore.yield %0 : tensor<8xf32>
    } begin {
      memory.load %h to %r for @second[0] step 0 : !memory.buffer<8xf32, dram, 64> to !memory.buffer<8xf32, sram, 0>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<8xf32, sram, 64> to !memory.buffer<8xf32, dram, 128>
    }
    manycore.execute @first(%a = %x : !memory.buffer<8xf32, dram, 0> as tensor<8xf32>)
        into %h : !memory.buffer<8xf32, dram, 64> reads(%r : !memory.buffer<8xf32, sram, 0>)
        staging(%s : !memory.buffer<8xf32, sram, 64>) slots [1] uses [0] writes [0]
        tiled <grid = [1], cores = [0], steps = [1], order = [0]> {
      %0 = dataflow.neg %a : (tensor<8xf32>) -> tensor<8xf32>
      manycore.yield %0 : tensor<8xf32>
    } begin {
      memory.load %x to %r for @first[0] step 0 : !memory.buffer<8xf32, dram, 0> to !memory.buffer<8xf32, sram, 0>
    } last {
      manycore.compute
      memory.store %s to %h : !memory.buffer<8xf32, sram, 64> to !memory.buffer<8xf32, dram, 64>
    }
  }
  func.return
}

// -----

func.func @main() {
  // expected-error@+1 {{is in 'func.func': expected manycore.execute}}
  manycore.compute
  func.return
}
