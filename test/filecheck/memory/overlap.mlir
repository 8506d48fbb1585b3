// Buffers that are alive together do not share bytes.
// RUN: meshloom-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: buffers %a : !memory.buffer<4xf32, sram, 0> and %b : !memory.buffer<4xf32, sram, 8> are alive together and share bytes
func.func @main() {
  %a = memory.alloc : !memory.buffer<4xf32, sram, 0>
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

// CHECK: buffers %c : !memory.buffer<4xf32, dram, 0> and %d : !memory.buffer<2xf32, dram, 4> are alive together and share bytes
func.func @constants(%w: tensor<4xf32>) {
  %c = memory.hold %w : tensor<4xf32> in !memory.buffer<4xf32, dram, 0>
  %d = memory.alloc : !memory.buffer<2xf32, dram, 4>
  func.return
}
