// Buffers that are alive together do not share bytes, and none is used after its end.
// RUN: meshloom-opt %s --split-input-file --verify-diagnostics | filecheck %s

func.func @main() {
  %a = memory.alloc : !memory.buffer<4xf32, sram, 0>
  // expected-error@+1 {{buffers %a : !memory.buffer<4xf32, sram, 0> and %b : !memory.buffer<4xf32, sram, 8> are live at the same time and share bytes}}
  %b = memory.alloc : !memory.buffer<4xf32, sram, 8>
  func.return
}

// -----

// The same bytes one after the other, the same offset in another memory, and neighbours are fine.
// CHECK: func.func @fine
func.func @fine() {
  %a = memory.alloc : !memory.buffer<4xf32, sram, 0>
  %d = memory.alloc : !memory.buffer<4xf32, dram, 0>
  %n = memory.alloc : !memory.buffer<4xf32, sram, 16>
  memory.free %a : !memory.buffer<4xf32, sram, 0>
  %b = memory.alloc : !memory.buffer<4xf32, sram, 0>
  func.return
}

// -----

func.func @constants(%w: tensor<4xf32>) {
  %c = memory.global %w : tensor<4xf32> in !memory.buffer<4xf32, dram, 0>
  // expected-error@+1 {{buffers %c : !memory.buffer<4xf32, dram, 0> and %d : !memory.buffer<2xf32, dram, 4> are live at the same time and share bytes}}
  %d = memory.alloc : !memory.buffer<2xf32, dram, 4>
  func.return
}

// -----

// A launch has its buffers in DRAM until it is waited for; among each other they may take turns.
// CHECK: func.func @waited
func.func @waited() {
  %t = manycore.launch @a {
    %a = memory.alloc : !memory.buffer<4xf32, dram, 0>
    memory.free %a : !memory.buffer<4xf32, dram, 0>
    %b = memory.alloc : !memory.buffer<2xf32, dram, 8>
  }
  memory.wait %t
  %c = memory.alloc : !memory.buffer<4xf32, dram, 0>
  func.return
}

// -----

func.func @running() {
  %t = manycore.launch @a {
    %a = memory.alloc : !memory.buffer<4xf32, dram, 0>
  }
  // expected-error@+1 {{buffers %a : !memory.buffer<4xf32, dram, 0> and %c : !memory.buffer<4xf32, dram, 8> are live at the same time and share bytes}}
  %c = memory.alloc : !memory.buffer<4xf32, dram, 8>
  memory.wait %t
  func.return
}

// -----

func.func @inside() {
  %c = memory.alloc : !memory.buffer<4xf32, dram, 8>
  %t = manycore.launch @a {
    // expected-error@+1 {{buffers %c : !memory.buffer<4xf32, dram, 8> and %a : !memory.buffer<4xf32, dram, 0> are live at the same time and share bytes}}
    %a = memory.alloc : !memory.buffer<4xf32, dram, 0>
  }
  func.return
}

// -----

func.func @argument(%x: !memory.buffer<4xf32, host, 0>) {
  // expected-error@+1 {{buffers %x : !memory.buffer<4xf32, host, 0> and %y : !memory.buffer<4xf32, host, 8> are live at the same time and share bytes}}
  %y = memory.alloc : !memory.buffer<4xf32, host, 8>
  func.return
}

// -----

func.func @freed(%h: !memory.buffer<4xf32, host, 0>) {
  %a = memory.alloc : !memory.buffer<4xf32, dram, 0>
  memory.free %a : !memory.buffer<4xf32, dram, 0>
  // expected-error@+1 {{%a : !memory.buffer<4xf32, dram, 0> is used after its memory.free}}
  %t = memory.copy %a to %h : !memory.buffer<4xf32, dram, 0> to !memory.buffer<4xf32, host, 0>
  func.return
}

// -----

func.func @seen(%h: !memory.buffer<2xf32, host, 0>) {
  %a = memory.alloc : !memory.buffer<4xf32, dram, 0>
  %v = memory.view %a : !memory.buffer<4xf32, dram, 0> as !memory.buffer<2xf32, dram, 8>
  memory.free %a : !memory.buffer<4xf32, dram, 0>
  // expected-error@+1 {{%v : !memory.buffer<2xf32, dram, 8> is used after its memory.free}}
  %t = memory.copy %v to %h : !memory.buffer<2xf32, dram, 8> to !memory.buffer<2xf32, host, 0>
  func.return
}
