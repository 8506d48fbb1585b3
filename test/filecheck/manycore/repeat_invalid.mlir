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
    // expected-error@+1 {{!memory.buffer<1x4xf32, dram, 0> has an offset, but its address differs in each step}}
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
    // expected-error@+1 {{a part of type !memory.buffer<4xf32, sram>: expected a buffer in the memory of !memory.buffer<8x4xf32, dram, 0>}}
    manycore.repeat 8 times (%row = %x from 0 by 16 : !memory.buffer<8x4xf32, dram, 0> as !memory.buffer<4xf32, sram>) {
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main(%x: !memory.buffer<8x4xf32, host, 0>) {
  %t = manycore.launch @all {
    // expected-error@+1 {{a part of type !memory.buffer<4xf32, host>: expected a buffer in dram or sram}}
    manycore.repeat 8 times (%row = %x from 0 by 16 : !memory.buffer<8x4xf32, host, 0> as !memory.buffer<4xf32, host>) {
    }
  }
  memory.wait %t
  func.return
}

// -----

// Of the tiles of a value, steps see rows.

func.func @main() {
  %t = manycore.launch @all {
    %x = memory.alloc : !memory.buffer<8x4xf32, sram, 0>
    // expected-error@+1 {{parts from byte 0 on, by 8, are not rows of !memory.buffer<8x4xf32, sram, 0>}}
    manycore.repeat 8 times (%row = %x from 0 by 8 : !memory.buffer<8x4xf32, sram, 0> as !memory.buffer<4xf32, sram>) {
    }
  }
  memory.wait %t
  func.return
}

// -----

// What a loop ends by lies on each core.

func.func @main() {
  %n = memory.alloc : !memory.buffer<i64, dram, 0>
  %t = manycore.launch @all {
    // expected-error@+1 {{'count' is !memory.buffer<i64, dram, 0>: expected one i64 in sram}}
    manycore.repeat 8 times count(%n : !memory.buffer<i64, dram, 0>) {
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main() {
  %t = manycore.launch @all {
    %go = memory.alloc : !memory.buffer<1xi64, sram, 0>
    // expected-error@+1 {{'while' is !memory.buffer<1xi64, sram, 0>: expected one i1 in sram}}
    manycore.repeat 8 times while(%go : !memory.buffer<1xi64, sram, 0>) {
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main() {
  %t = manycore.launch @all {
    // expected-error@+1 {{it must end by a condition, but has none: expected 'while'}}
    manycore.repeat 8 times ends {
    }
  }
  memory.wait %t
  func.return
}

// -----

func.func @main() {
  %t = manycore.launch @all {
    %n = memory.alloc : !memory.buffer<1xi64, sram, 0>
    // expected-error@+1 {{groups of 3 steps do not divide 8 counted steps}}
    manycore.repeat 8 times count(%n : !memory.buffer<1xi64, sram, 0>) in 3 {
    }
  }
  memory.wait %t
  func.return
}
