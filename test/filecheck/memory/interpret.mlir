// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s

// What was never written, and what was freed, is NaN or the highest integer.
// CHECK:      out: !memory.buffer<4xf32, dram> = [-3., -2., -1., 0.]
// CHECK-NEXT: unwritten: !memory.buffer<2xi8, sram> = [127, 127]
// CHECK-NEXT: freed: !memory.buffer<4xf32, sram> = [nan, nan, nan, nan]
func.func @main(%x: !memory.buffer<4xf32, dram>) -> (!memory.buffer<4xf32, dram> {dataflow.name = "out"},
    !memory.buffer<2xi8, sram> {dataflow.name = "unwritten"}, !memory.buffer<4xf32, sram> {dataflow.name = "freed"}) {
  %a = memory.alloc : !memory.buffer<4xf32, sram>
  %b = memory.alloc : !memory.buffer<4xf32, sram>
  %y = memory.alloc : !memory.buffer<4xf32, dram>
  %u = memory.alloc : !memory.buffer<2xi8, sram>
  memory.load %x to %a : !memory.buffer<4xf32, dram> to !memory.buffer<4xf32, sram>
  memory.copy %a to %b : !memory.buffer<4xf32, sram> to !memory.buffer<4xf32, sram>
  memory.free %a : !memory.buffer<4xf32, sram>
  memory.store %b to %y : !memory.buffer<4xf32, sram> to !memory.buffer<4xf32, dram>
  func.return %y, %u, %a : !memory.buffer<4xf32, dram>, !memory.buffer<2xi8, sram>, !memory.buffer<4xf32, sram>
}
