// RUN: meshloom-opt %s --verify-diagnostics --split-input-file | filecheck %s

// Parts of a buffer that do not lie in it.

// CHECK: parts from byte 0 on, by 32, are not all in !memory.buffer<8x4xf32, dram, 0>
func.func @main() {
  %x = memory.alloc : !memory.buffer<8x4xf32, dram, 0>
  %t = manycore.launch @all {
    manycore.repeat 8 times (%row = %x from 0 by 32 : !memory.buffer<8x4xf32, dram, 0> as !memory.buffer<1x4xf32, dram>) {
    }
  }
  memory.wait %t
  func.return
}

// -----

// CHECK: !memory.buffer<1x4xf32, dram, 0> has an address, but lies elsewhere in each step
func.func @main() {
  %x = memory.alloc : !memory.buffer<8x4xf32, dram, 0>
  %t = manycore.launch @all {
    manycore.repeat 8 times (%row = %x from 0 by 16 : !memory.buffer<8x4xf32, dram, 0> as !memory.buffer<1x4xf32, dram, 0>) {
    }
  }
  memory.wait %t
  func.return
}

// -----

// CHECK: it has 0 steps: expected 1 or more
func.func @main() {
  %t = manycore.launch @all {
    manycore.repeat 0 times {
    }
  }
  memory.wait %t
  func.return
}

// -----

// CHECK: a part of type !memory.buffer<4xf32, sram>: expected a buffer in dram
func.func @main() {
  %x = memory.alloc : !memory.buffer<8x4xf32, dram, 0>
  %t = manycore.launch @all {
    manycore.repeat 8 times (%row = %x from 0 by 16 : !memory.buffer<8x4xf32, dram, 0> as !memory.buffer<4xf32, sram>) {
    }
  }
  memory.wait %t
  func.return
}
