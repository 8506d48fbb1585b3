// A buffer whose only use is that it is freed is removed. All else stays as it is, which `canonicalize,cse` must not
// undo: equal copies, and a launch with its transfers.
// RUN: meshloom-opt %s -p canonicalize,cse | filecheck %s
// RUN: meshloom-opt %S/../edited/transfers.mlir -p canonicalize,cse -o %t.mlir
// RUN: meshloom-opt %S/../edited/transfers.mlir -o %t.same.mlir
// RUN: grep -v source %t.mlir > %t.a
// RUN: grep -v source %t.same.mlir > %t.b
// RUN: diff %t.a %t.b

// CHECK-LABEL: @main
// CHECK-NEXT:    %kept = memory.alloc : !memory.buffer<4xf32, dram>
// CHECK-NEXT:    %0 = memory.copy %x to %kept
// CHECK-NEXT:    memory.wait %0
// CHECK-NEXT:    %1 = memory.copy %x to %kept
// CHECK-NEXT:    memory.wait %1
// CHECK-NEXT:    func.return
func.func @main(%x: !memory.buffer<4xf32, host>) {
  %kept = memory.alloc : !memory.buffer<4xf32, dram>
  %unread = memory.alloc : !memory.buffer<4xf32, dram>
  %0 = memory.copy %x to %kept : !memory.buffer<4xf32, host> to !memory.buffer<4xf32, dram>
  memory.wait %0
  memory.free %unread : !memory.buffer<4xf32, dram>
  %1 = memory.copy %x to %kept : !memory.buffer<4xf32, host> to !memory.buffer<4xf32, dram>
  memory.wait %1
  func.return
}
