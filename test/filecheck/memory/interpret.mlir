// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s

// What was never written is NaN or the highest integer. A part of what holds several tensors is seen
// from a multiple of 64 bytes on: 2.0 is 0x40000000, 1.5 is 0x3fc00000.
// CHECK:      out: !memory.buffer<4xf32, host> = [-3., -2., -1., 0.]
// CHECK-NEXT: unwritten: !memory.buffer<2xi8, dram> = [127, 127]
// CHECK-NEXT: nowhere: !memory.buffer<4xf32, dram> = [nan, nan, nan, nan]
// CHECK-NEXT: bits: !memory.buffer<2xi32, host, 64> = [1073741824, 1069547520]
// CHECK-NEXT: tail: !memory.buffer<2xf32, dram, 8> = [-1., 0.]
func.func @main(%x: !memory.buffer<4xf32, host>) -> (!memory.buffer<4xf32, host> {dataflow.name = "out"},
    !memory.buffer<2xi8, dram> {dataflow.name = "unwritten"}, !memory.buffer<4xf32, dram> {dataflow.name = "nowhere"},
    !memory.buffer<2xi32, host, 64> {dataflow.name = "bits"}, !memory.buffer<2xf32, dram, 8> {dataflow.name = "tail"}) {
  %v = dataflow.constant dense<1.0> : tensor<3xf32>
  %w = dataflow.constant dense<[2.0, 1.5]> : tensor<2xf32>
  %held = memory.global %v, %w : tensor<3xf32>, tensor<2xf32> in !memory.buffer<128xui8, host, 0>
  %bits = memory.view %held : !memory.buffer<128xui8, host, 0> as !memory.buffer<2xi32, host, 64>
  %a = memory.alloc : !memory.buffer<4xf32, dram>
  %b = memory.alloc : !memory.buffer<4xf32, dram, 0>
  %y = memory.alloc : !memory.buffer<4xf32, host>
  %u = memory.alloc : !memory.buffer<2xi8, dram>
  %0 = memory.copy %x, %x to %a, %b : !memory.buffer<4xf32, host>, !memory.buffer<4xf32, host> to !memory.buffer<4xf32, dram>, !memory.buffer<4xf32, dram, 0>
  memory.wait %0
  %tail = memory.view %b : !memory.buffer<4xf32, dram, 0> as !memory.buffer<2xf32, dram, 8>
  %1 = memory.copy %a to %y : !memory.buffer<4xf32, dram> to !memory.buffer<4xf32, host>
  memory.wait %1
  memory.free %a : !memory.buffer<4xf32, dram>
  %nowhere = memory.alloc : !memory.buffer<4xf32, dram>
  func.return %y, %u, %nowhere, %bits, %tail : !memory.buffer<4xf32, host>, !memory.buffer<2xi8, dram>, !memory.buffer<4xf32, dram>, !memory.buffer<2xi32, host, 64>, !memory.buffer<2xf32, dram, 8>
}
