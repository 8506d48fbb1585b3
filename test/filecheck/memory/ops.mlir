// RUN: meshloom-opt %s | meshloom-opt | filecheck %s
// RUN: meshloom-opt %s --print-op-generic | meshloom-opt | filecheck %s

// CHECK:      func.func @main(%x: !memory.buffer<4x2xf32, dram, 64>, %h: !memory.buffer<bf16, host>) {
// CHECK-NEXT:   %0 = memory.alloc {live = array<i64: 0, 3>} : !memory.buffer<4x2xf32, sram, 4096>
// CHECK-NEXT:   %1 = memory.alloc : !memory.buffer<4x2xf32, sram>
// CHECK-NEXT:   memory.load %x to %0 : !memory.buffer<4x2xf32, dram, 64> to !memory.buffer<4x2xf32, sram, 4096>
// CHECK-NEXT:   memory.copy %0 to %1 : !memory.buffer<4x2xf32, sram, 4096> to !memory.buffer<4x2xf32, sram>
// CHECK-NEXT:   memory.store %1 to %x : !memory.buffer<4x2xf32, sram> to !memory.buffer<4x2xf32, dram, 64>
// CHECK-NEXT:   memory.free %0 : !memory.buffer<4x2xf32, sram, 4096>
func.func @main(%x: !memory.buffer<4x2xf32, dram, 64>, %h: !memory.buffer<bf16, host>) {
  %0 = memory.alloc {live = array<i64: 0, 3>} : !memory.buffer<4x2xf32, sram, 4096>
  %1 = memory.alloc : !memory.buffer<4x2xf32, sram>
  memory.load %x to %0 : !memory.buffer<4x2xf32, dram, 64> to !memory.buffer<4x2xf32, sram, 4096>
  memory.copy %0 to %1 : !memory.buffer<4x2xf32, sram, 4096> to !memory.buffer<4x2xf32, sram>
  memory.store %1 to %x : !memory.buffer<4x2xf32, sram> to !memory.buffer<4x2xf32, dram, 64>
  memory.free %0 : !memory.buffer<4x2xf32, sram, 4096>
  // CHECK-NEXT: "test.op"() {space = #memory.space<host>} : () -> ()
  "test.op"() {space = #memory.space<host>} : () -> ()
  func.return
}
