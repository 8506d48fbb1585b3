// The same two tasks twice: a value that goes through DRAM, and (lines that begin with `//sram`) one that stays in the
// cores that compute it, and from which the readers gather their columns.

// RUN: meshloom-opt %s -t 'emulate{inputs=iota cycles=true}' -o %t.dram
// RUN: filecheck %s --check-prefix VALUES --input-file %t.dram
// RUN: meshloom-opt %s -p memory-to-coreasm | filecheck %s --check-prefix DRAM
// RUN: sed -e '/\/\/ dram$/d' -e 's,^//sram,,' %s > %t.mlir
// RUN: meshloom-opt %t.mlir -t 'interpret{inputs=iota}' | filecheck %s --check-prefix VALUES
// RUN: meshloom-opt %t.mlir -t 'emulate{inputs=iota cycles=true}' -o %t.sram
// RUN: filecheck %s --check-prefix VALUES --input-file %t.sram
// RUN: meshloom-opt %t.mlir -p memory-to-coreasm | filecheck %s --check-prefix SRAM
// RUN: grep cycles: %t.sram > %t.cycles
// RUN: grep cycles: %t.dram >> %t.cycles
// RUN: sort --check --unique --numeric-sort --key 2 %t.cycles

// A gather that is missing is one that the readers wait for.
// RUN: sed '/memory.gather/d' %t.mlir > %t.missing.mlir
// RUN: not meshloom-opt %t.missing.mlir -t interpret 2>&1 | filecheck %s --check-prefix MISSING
// RUN: not meshloom-opt %t.missing.mlir -t emulate 2>&1 | filecheck %s --check-prefix MISSING

// x holds -3 to 3 in turn; y = max(-x, 0).
// VALUES:      y: {{.*}} = {{\[\[}}3., 2., 1., {{.*}}0.],
// VALUES-NEXT: [0., 0., 0., 3.],
// VALUES-NEXT: [2., 1., {{.*}}0., 0.],
// VALUES-NEXT: [0., 0., 3., 2.]]

// DRAM:     store f32 dram{{.*}} from "first"
// DRAM:     load f32 {{.*}} from "second"
// SRAM-NOT: store{{.*}} from "first"
// SRAM:     put f32 {{.*}} from "second"
// SRAM-NOT: store{{.*}} from "first"

// MISSING: error: task @second{{.*}} uses read 0 in step 0{{.*}} before it is
// MISSING: manycore.execute @second
builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: !memory.buffer<4x4xf32, host, 0> {dataflow.name = "x"}) -> (!memory.buffer<4x4xf32, host, 64> {dataflow.name = "y"}) {
    %y = memory.alloc : !memory.buffer<4x4xf32, host, 64>
    %xd = memory.alloc : !memory.buffer<4x4xf32, dram, 0>
    %yd = memory.alloc : !memory.buffer<4x4xf32, dram, 64>
    %in = memory.copy %x to %xd : !memory.buffer<4x4xf32, host, 0> to !memory.buffer<4x4xf32, dram, 0>
    memory.wait %in
    %run = manycore.launch @all {
      %h = memory.alloc : !memory.buffer<4x4xf32, dram, 128>  // dram
      %s = memory.alloc : !memory.buffer<2x4xf32, sram, 64>  // dram
//sram      %h = memory.alloc : !memory.buffer<2x4xf32, sram, 128>
      %r = memory.alloc : !memory.buffer<2x4xf32, sram, 0>
      manycore.execute @first(%a = %xd : !memory.buffer<4x4xf32, dram, 0> as tensor<4x4xf32>)
          into %h : !memory.buffer<4x4xf32, dram, 128> reads(%r : !memory.buffer<2x4xf32, sram, 0>) staging(%s : !memory.buffer<2x4xf32, sram, 64>) // dram
//sram          into %h : !memory.buffer<2x4xf32, sram, 128> reads(%r : !memory.buffer<2x4xf32, sram, 0>)
          slots [1] uses [0] writes [0] tiled <grid = [2, 1], cores = [0, 1], steps = [1, 1], order = [0, 1]> {
        %0 = dataflow.neg %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
        manycore.yield %0 : tensor<4x4xf32>
      } begin {
        memory.load %xd to %r for @first[0] step 0 : !memory.buffer<4x4xf32, dram, 0> to !memory.buffer<2x4xf32, sram, 0>
      } last {
        manycore.compute
        memory.store %s to %h : !memory.buffer<2x4xf32, sram, 64> to !memory.buffer<4x4xf32, dram, 128>  // dram
      }
      %columns = memory.alloc : !memory.buffer<4x2xf32, sram, 192>
      %staging = memory.alloc : !memory.buffer<4x2xf32, sram, 256>
      manycore.execute @second(
          %a = %h : !memory.buffer<4x4xf32, dram, 128> as tensor<4x4xf32>)  // dram
//sram          %a = %h : !memory.buffer<2x4xf32, sram, 128> as tensor<4x4xf32>)
          into %yd : !memory.buffer<4x4xf32, dram, 64>
          reads(%columns : !memory.buffer<4x2xf32, sram, 192>) staging(%staging : !memory.buffer<4x2xf32, sram, 256>)
          slots [1] uses [0] writes [0] tiled <grid = [1, 2], cores = [2, 3], steps = [1, 1], order = [0, 1]> {
        %0 = dataflow.relu %a : (tensor<4x4xf32>) -> tensor<4x4xf32>
        manycore.yield %0 : tensor<4x4xf32>
      } begin {
        memory.load %h to %columns for @second[0] step 0 : !memory.buffer<4x4xf32, dram, 128> to !memory.buffer<4x2xf32, sram, 192>  // dram
//sram        memory.gather %h to %columns for @second[0] step 0 : !memory.buffer<2x4xf32, sram, 128> to !memory.buffer<4x2xf32, sram, 192>
      } last {
        manycore.compute
        memory.store %staging to %yd : !memory.buffer<4x2xf32, sram, 256> to !memory.buffer<4x4xf32, dram, 64>
      }
    }
    memory.wait %run
    %out = memory.copy %yd to %y : !memory.buffer<4x4xf32, dram, 64> to !memory.buffer<4x4xf32, host, 64>
    memory.wait %out
    func.return %y : !memory.buffer<4x4xf32, host, 64>
  }
}
