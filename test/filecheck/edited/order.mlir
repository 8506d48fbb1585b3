// Two tasks that do not need each other, in one order and in the other: first of all instructions are those of the task
// that stands first, and the values are the same.

// RUN: meshloom-opt %s -p memory-to-coreasm | filecheck %s
// RUN: meshloom-opt %s -t 'emulate{inputs=iota}' | filecheck %s --check-prefix VALUES
// RUN: sed -e '/^ .* one begins/,/^ .* one ends/{H;d;}' -e '/^ .* two ends/G' %s > %t.mlir
// RUN: meshloom-opt %t.mlir -p memory-to-coreasm | filecheck %s --check-prefix OTHER
// RUN: meshloom-opt %t.mlir -t 'interpret{inputs=iota}' | filecheck %s --check-prefix VALUES
// RUN: meshloom-opt %t.mlir -t 'emulate{inputs=iota}' | filecheck %s --check-prefix VALUES

// x is -3 to 0.
// VALUES:      a: {{.*}} = [ 3.,  2.,  1., -0.]
// VALUES-NEXT: b: {{.*}} = [0., 0., 0., 0.]

// CHECK:      coreasm.program @launch0.0
// CHECK:      load {{.*}} from "one"
// CHECK-NEXT: neg {{.*}} from "one"
// CHECK-NEXT: store {{.*}} from "one"
// CHECK-NEXT: load {{.*}} from "two"
// OTHER:      coreasm.program @launch0.0
// OTHER:      load {{.*}} from "two"
// OTHER-NEXT: relu {{.*}} from "two"
// OTHER-NEXT: store {{.*}} from "two"
// OTHER-NEXT: load {{.*}} from "one"
builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: !memory.buffer<4xf32, host, 0> {dataflow.name = "x"})
      -> (!memory.buffer<4xf32, host, 64> {dataflow.name = "a"}, !memory.buffer<4xf32, host, 128> {dataflow.name = "b"}) {
    %a = memory.alloc : !memory.buffer<4xf32, host, 64>
    %b = memory.alloc : !memory.buffer<4xf32, host, 128>
    %xd = memory.alloc : !memory.buffer<4xf32, dram, 0>
    %ad = memory.alloc : !memory.buffer<4xf32, dram, 64>
    %bd = memory.alloc : !memory.buffer<4xf32, dram, 192>
    %in = memory.copy %x to %xd : !memory.buffer<4xf32, host, 0> to !memory.buffer<4xf32, dram, 0>
    memory.wait %in
    %run = manycore.launch @all {
      %r1 = memory.alloc : !memory.buffer<4xf32, sram, 128>  // one begins
      %s1 = memory.alloc : !memory.buffer<4xf32, sram, 192>
      manycore.execute @one(%v = %xd : !memory.buffer<4xf32, dram, 0> as tensor<4xf32>)
          into %ad : !memory.buffer<4xf32, dram, 64> reads(%r1 : !memory.buffer<4xf32, sram, 128>)
          staging(%s1 : !memory.buffer<4xf32, sram, 192>) slots [1] uses [0] writes [0]
          tiled <grid = [1], cores = [0], steps = [1], order = [0]> {
        %0 = dataflow.neg %v : (tensor<4xf32>) -> tensor<4xf32>
        manycore.yield %0 : tensor<4xf32>
      } begin {
        memory.load %xd to %r1 for @one[0] step 0 : !memory.buffer<4xf32, dram, 0> to !memory.buffer<4xf32, sram, 128>
      } last {
        manycore.compute
        memory.store %s1 to %ad : !memory.buffer<4xf32, sram, 192> to !memory.buffer<4xf32, dram, 64>
      }  // one ends
      %r2 = memory.alloc : !memory.buffer<4xf32, sram, 0>
      %s2 = memory.alloc : !memory.buffer<4xf32, sram, 64>
      manycore.execute @two(%v = %xd : !memory.buffer<4xf32, dram, 0> as tensor<4xf32>)
          into %bd : !memory.buffer<4xf32, dram, 192> reads(%r2 : !memory.buffer<4xf32, sram, 0>)
          staging(%s2 : !memory.buffer<4xf32, sram, 64>) slots [1] uses [0] writes [0]
          tiled <grid = [1], cores = [0], steps = [1], order = [0]> {
        %0 = dataflow.relu %v : (tensor<4xf32>) -> tensor<4xf32>
        manycore.yield %0 : tensor<4xf32>
      } begin {
        memory.load %xd to %r2 for @two[0] step 0 : !memory.buffer<4xf32, dram, 0> to !memory.buffer<4xf32, sram, 0>
      } last {
        manycore.compute
        memory.store %s2 to %bd : !memory.buffer<4xf32, sram, 64> to !memory.buffer<4xf32, dram, 192>
      }  // two ends
    }
    memory.wait %run
    %out = memory.copy %ad, %bd to %a, %b : !memory.buffer<4xf32, dram, 64>, !memory.buffer<4xf32, dram, 192> to !memory.buffer<4xf32, host, 64>, !memory.buffer<4xf32, host, 128>
    memory.wait %out
    func.return %a, %b : !memory.buffer<4xf32, host, 64>, !memory.buffer<4xf32, host, 128>
  }
}
