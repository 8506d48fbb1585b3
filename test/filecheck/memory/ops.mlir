// RUN: meshloom-opt %s | meshloom-opt | filecheck %s
// RUN: meshloom-opt %s --print-op-generic | meshloom-opt | filecheck %s

// CHECK:      func.func @main(%x: !memory.buffer<4x2xf32, host, 64>, %h: !memory.buffer<bf16, host>) {
// CHECK-NEXT:   %0 = memory.alloc {live = array<i64: 0, 3>} : !memory.buffer<4x2xf32, dram, 4096>
// CHECK-NEXT:   %1 = memory.alloc : !memory.buffer<bf16, dram>
// CHECK-NEXT:   %t = memory.copy %x to %0 : !memory.buffer<4x2xf32, host, 64> to !memory.buffer<4x2xf32, dram, 4096>
// CHECK-NEXT:   memory.wait %t
// CHECK-NEXT:   %both = memory.copy %0, %1 to %x, %h {note = "back"} : !memory.buffer<4x2xf32, dram, 4096>, !memory.buffer<bf16, dram> to !memory.buffer<4x2xf32, host, 64>, !memory.buffer<bf16, host>
// CHECK-NEXT:   memory.wait %both
// CHECK-NEXT:   memory.free %0 : !memory.buffer<4x2xf32, dram, 4096>
func.func @main(%x: !memory.buffer<4x2xf32, host, 64>, %h: !memory.buffer<bf16, host>) {
  %0 = memory.alloc {live = array<i64: 0, 3>} : !memory.buffer<4x2xf32, dram, 4096>
  %1 = memory.alloc : !memory.buffer<bf16, dram>
  %t = memory.copy %x to %0 : !memory.buffer<4x2xf32, host, 64> to !memory.buffer<4x2xf32, dram, 4096>
  memory.wait %t
  %both = memory.copy %0, %1 to %x, %h {note = "back"} : !memory.buffer<4x2xf32, dram, 4096>, !memory.buffer<bf16, dram> to !memory.buffer<4x2xf32, host, 64>, !memory.buffer<bf16, host>
  memory.wait %both
  memory.free %0 : !memory.buffer<4x2xf32, dram, 4096>
  // CHECK-NEXT: "test.op"() {space = #memory.space<host>} : () -> ()
  "test.op"() {space = #memory.space<host>} : () -> ()
  func.return
}

// CHECK-LABEL: @values
// CHECK-NEXT:   %one = memory.global %v : tensor<4xf32> in !memory.buffer<4xf32, dram, 0>
// CHECK-NEXT:   %three = memory.global %v, %w, %v : tensor<4xf32>, tensor<17xf64>, tensor<4xf32> in !memory.buffer<320xui8, host, 64>
// CHECK-NEXT:   %part = memory.view %three : !memory.buffer<320xui8, host, 64> as !memory.buffer<17xf64, host, 128>
// CHECK-NEXT:   %bits = memory.view %one : !memory.buffer<4xf32, dram, 0> as !memory.buffer<2x2xi32, dram, 0>
// CHECK-NEXT:   %within = memory.view %free : !memory.buffer<4xf32, sram> as !memory.buffer<2xf32, sram>
func.func @values(%v: tensor<4xf32>, %w: tensor<17xf64>, %free: !memory.buffer<4xf32, sram>) {
  %one = memory.global %v : tensor<4xf32> in !memory.buffer<4xf32, dram, 0>
  %three = memory.global %v, %w, %v : tensor<4xf32>, tensor<17xf64>, tensor<4xf32> in !memory.buffer<320xui8, host, 64>
  %part = memory.view %three : !memory.buffer<320xui8, host, 64> as !memory.buffer<17xf64, host, 128>
  %bits = memory.view %one : !memory.buffer<4xf32, dram, 0> as !memory.buffer<2x2xi32, dram, 0>
  %within = memory.view %free : !memory.buffer<4xf32, sram> as !memory.buffer<2xf32, sram>
  func.return
}
