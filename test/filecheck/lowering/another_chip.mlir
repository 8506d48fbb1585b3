// A module of buffers that names no chip is checked against the one that is given, and one that does is for no other.
// RUN: meshloom-opt %s -t 'emulate{chip=tiny inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -t 'emulate{chip=edge inputs=iota}' | filecheck %s

// RUN: sed 's/cores = .0, 1./cores = [0, 9]/' %s > %t
// RUN: cat %t | meshloom-opt -t 'emulate{chip=edge inputs=iota}' | filecheck %s
// RUN: cat %t | not meshloom-opt -t 'emulate{chip=tiny}' 2>&1 | filecheck %s --check-prefix CORE
// RUN: cat %t | not meshloom-opt -p 'memory-to-coreasm{chip=tiny}' 2>&1 | filecheck %s --check-prefix CORE
// RUN: cp %t %t.mlir
// RUN: not meshloom-compile %t.mlir --chip tiny -o %t.mlx 2>&1 | filecheck %s --check-prefix CORE

// RUN: sed 's/sram, 128/sram, 65536/' %s | not meshloom-opt -p 'memory-to-coreasm{chip=tiny}' 2>&1 | filecheck %s --check-prefix PLACE

// RUN: printf 'builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {\n' > %t
// RUN: cat %s >> %t
// RUN: printf '}\n' >> %t
// RUN: cat %t | not meshloom-opt -p 'memory-to-coreasm{chip=edge}' 2>&1 | filecheck %s --check-prefix CHIP

// CHECK: result0: !memory.buffer<8xf32, host, 64> = [ 3.,  2.,  1., -0., -1., -2., -3.,  3.]
// CORE: task @neg: core 9 is not usable on chip 'tiny' of 4 cores, 4 of them usable
// PLACE: the buffer ends at byte 65552: chip 'tiny' has 65536 bytes of sram
// CHIP: the module is for chip 'tiny': it cannot be compiled for 'edge'
func.func @main(%a: !memory.buffer<8xf32, host, 0>) -> !memory.buffer<8xf32, host, 64> {
  %b = memory.alloc : !memory.buffer<8xf32, host, 64>
  %x = memory.alloc : !memory.buffer<8xf32, dram, 0>
  %y = memory.alloc : !memory.buffer<8xf32, dram, 64>
  %in = memory.copy %a to %x : !memory.buffer<8xf32, host, 0> to !memory.buffer<8xf32, dram, 0>
  memory.wait %in
  %t = manycore.launch @all {
    %r = memory.alloc : !memory.buffer<4xf32, sram, 0>
    %s = memory.alloc : !memory.buffer<4xf32, sram, 128>
    manycore.execute @neg(%v = %x : !memory.buffer<8xf32, dram, 0> as tensor<8xf32>)
        into %y : !memory.buffer<8xf32, dram, 64> reads(%r : !memory.buffer<4xf32, sram, 0>)
        staging(%s : !memory.buffer<4xf32, sram, 128>) slots [1] uses [0] writes [0]
        tiled <grid = [2], cores = [0, 1], steps = [1], order = [0]> {
      %0 = dataflow.neg %v : (tensor<8xf32>) -> tensor<8xf32>
      manycore.yield %0 : tensor<8xf32>
    } begin {
      memory.load %x to %r for @neg[0] step 0 : !memory.buffer<8xf32, dram, 0> to !memory.buffer<4xf32, sram, 0>
    } last {
      manycore.compute
      memory.store %s to %y : !memory.buffer<4xf32, sram, 128> to !memory.buffer<8xf32, dram, 64>
    }
  }
  memory.wait %t
  %out = memory.copy %y to %b : !memory.buffer<8xf32, dram, 64> to !memory.buffer<8xf32, host, 64>
  memory.wait %out
  func.return %b : !memory.buffer<8xf32, host, 64>
}
