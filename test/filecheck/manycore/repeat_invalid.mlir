// RUN: meshloom-opt %s --split-input-file --verify-diagnostics

// Parts of a buffer that do not lie in it.

func.func @main() {
  %x = memory.alloc : !memory.buffer<8x4xf32, dram, 0>
  %t = manycore.launch @all {
    // expected-error@+1 {{parts from byte 0 on, by 32, are not all in !memory.buffer<8x4xf32, dram, 0>}}
    manycore.repeat 8 times (%row = %x from 0 by 32 : !memory.buffer<8x4xf32, dram, 0> as !memory.buffer<1x4xf32, dram>) {
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main() {
  %x = memory.alloc : !memory.buffer<8x4xf32, dram, 0>
  %t = manycore.launch @all {
    // expected-error@+1 {{!memory.buffer<1x4xf32, dram, 0> has an address, but lies elsewhere in each step}}
    manycore.repeat 8 times (%row = %x from 0 by 16 : !memory.buffer<8x4xf32, dram, 0> as !memory.buffer<1x4xf32, dram, 0>) {
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main() {
  %t = manycore.launch @all {
    // expected-error@+1 {{it has 0 steps: expected 1 or more}}
    manycore.repeat 0 times {
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main() {
  %x = memory.alloc : !memory.buffer<8x4xf32, dram, 0>
  %t = manycore.launch @all {
    // expected-error@+1 {{a part of type !memory.buffer<4xf32, sram>: expected a buffer in dram}}
    manycore.repeat 8 times (%row = %x from 0 by 16 : !memory.buffer<8x4xf32, dram, 0> as !memory.buffer<4xf32, sram>) {
    }
  }
  memory.wait %t
  func.return
}
