// RUN: meshloom-opt %s -p canonicalize | filecheck %s

// A buffer that is only written goes with its writes; a copy to itself goes.
// CHECK-LABEL: @main
// CHECK-NEXT:    %kept = memory.alloc : !memory.buffer<4xf32, sram>
// CHECK-NEXT:    memory.load %x to %kept
// CHECK-NEXT:    memory.store %kept to %x
// CHECK-NEXT:    func.return
func.func @main(%x: !memory.buffer<4xf32, dram>) {
  %kept = memory.alloc : !memory.buffer<4xf32, sram>
  %unread = memory.alloc : !memory.buffer<4xf32, sram>
  memory.load %x to %kept : !memory.buffer<4xf32, dram> to !memory.buffer<4xf32, sram>
  memory.copy %kept to %unread : !memory.buffer<4xf32, sram> to !memory.buffer<4xf32, sram>
  memory.copy %kept to %kept : !memory.buffer<4xf32, sram> to !memory.buffer<4xf32, sram>
  memory.free %unread : !memory.buffer<4xf32, sram>
  memory.store %kept to %x : !memory.buffer<4xf32, sram> to !memory.buffer<4xf32, dram>
  func.return
}
