// RUN: meshloom-opt %s -p manycore-to-memory --check-semantics | filecheck %s
// RUN: meshloom-opt %s -p manycore-to-memory | meshloom-opt | filecheck %s
// RUN: meshloom-opt %s -p manycore-to-memory | meshloom-opt --print-op-generic | meshloom-opt | filecheck %s

// Addresses are multiples of 64. Inputs, then results, lie in host memory; in DRAM, constants (128 bytes), inputs (256),
// results. The tile of @dense lives until its reader has run. Its operand %x, another slice in each of four steps, has two
// buffers that are used in turn, and the slice of a step is loaded during the step before; the weights are the same in all
// steps and have one. @flip runs on other cores: what its steps need of its slice of 8 x 2 is gathered before each, into
// memory that is free while @dense still runs.

// CHECK:      func.func @main(%[[X:.+]]: !memory.buffer<8x8xf32, host, 0> {{.*}}) -> (!memory.buffer<32xf32, host, 256> {{.*}}) {
// CHECK-NEXT: %[[Y:.+]] = memory.alloc : !memory.buffer<32xf32, host, 256>
// CHECK-NEXT: %w = dataflow.constant
// CHECK-NEXT: %[[W:.+]] = memory.global %w : tensor<8x4xf32> in !memory.buffer<8x4xf32, dram, 0>
// CHECK-NEXT: %[[D:.+]] = memory.alloc : !memory.buffer<8x8xf32, dram, 128>
// CHECK-NEXT: %[[IN:.+]] = memory.copy %[[X]] to %[[D]] :
// CHECK-NEXT: memory.wait %[[IN]]
// CHECK-NEXT: %flip = memory.alloc : !memory.buffer<8x4xf32, dram, 384>
// CHECK-NEXT: %[[LAUNCH:.+]] = manycore.launch @all attributes {manycore.operators = 2 : i64} {
// CHECK-NEXT: %dense = memory.alloc {live = array<i64: 0, 1>} : !memory.buffer<4x4xf32, sram, {{[0-9]+}}>
// CHECK-NEXT: %[[R0:.+]] = memory.alloc {live = array<i64: 0, 0>} : !memory.buffer<1x8xf32, sram, {{[0-9]+}}>
// CHECK-NEXT: %[[R1:.+]] = memory.alloc {live = array<i64: 0, 0>} : !memory.buffer<1x8xf32, sram, {{[0-9]+}}>
// CHECK-NEXT: %dense_read1 = memory.alloc {live = array<i64: 0, 0>} : !memory.buffer<8x4xf32, sram, {{[0-9]+}}>
// CHECK-NEXT: %flip_read0 = memory.alloc {live = array<i64: 0, 1>} : !memory.buffer<8x2xf32, sram, {{[0-9]+}}>
// CHECK-NEXT: manycore.execute @dense({{.*}} = %[[D]] : {{.*}} = %[[W]] : {{.*}}) into %dense : {{.*}} slots [2, 1] uses [0, 1] writes [0] tiled
// CHECK:      } begin {
// CHECK-NEXT:   memory.load %[[D]] to %[[R0]], %[[R1]] for @dense[0] step 0 :
// CHECK-NEXT:   memory.load %[[W]] to %dense_read1 for @dense[1] step 0 :
// CHECK-NEXT: } steps {
// CHECK-NEXT:   memory.load %[[D]] to %[[R0]], %[[R1]] for @dense[0] step +1 :
// CHECK-NEXT:   manycore.compute
// CHECK-NEXT: } last {
// CHECK-NEXT:   manycore.compute
// CHECK-NEXT: }
// CHECK-NEXT: memory.free %[[R0]]
// CHECK-NEXT: memory.free %[[R1]]
// CHECK-NEXT: memory.free %dense_read1
// CHECK-NEXT: %[[S0:.+]] = memory.alloc {live = array<i64: 1, 1>} : !memory.buffer<4x2xf32, sram, {{[0-9]+}}>
// CHECK-NEXT: %[[S1:.+]] = memory.alloc
// CHECK-NEXT: manycore.execute @flip({{.*}} = %dense : {{.*}}) into %flip : {{.*}} reads(%flip_read0 : {{.*}}) staging(%[[S0]] : {{.*}}, %[[S1]] : {{.*}}) slots [1] uses [0] writes [0] tiled
// CHECK:      } begin {
// CHECK-NEXT:   memory.gather %dense to %flip_read0 for @flip[0] step 0 :
// CHECK-NEXT: } steps {
// CHECK-NEXT:   memory.gather %dense to %flip_read0 for @flip[0] step +1 :
// CHECK-NEXT:   manycore.compute
// CHECK-NEXT:   memory.store %[[S0]], %[[S1]] to %flip :
// CHECK-NEXT: } last {
// CHECK-NEXT:   manycore.compute
// CHECK-NEXT:   memory.store %[[S0]], %[[S1]] to %flip :
// CHECK-NEXT: }
// CHECK:      memory.free %dense :
// CHECK:      memory.wait %[[LAUNCH]]
// CHECK-NEXT: memory.free %[[D]] :
// CHECK-NEXT: %[[VIEW:.+]] = memory.view %[[Y]] : !memory.buffer<32xf32, host, 256> as !memory.buffer<8x4xf32, host, 256>
// CHECK-NEXT: %[[OUT:.+]] = memory.copy %flip to %[[VIEW]] :
// CHECK-NEXT: memory.wait %[[OUT]]
// CHECK-NEXT: memory.free %flip :
// CHECK-NEXT: func.return %[[Y]]
builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: tensor<8x8xf32>) -> tensor<32xf32> {
    %w = dataflow.constant dense<0.5> : tensor<8x4xf32>
    %dense = manycore.task @dense(%a = %x : tensor<8x8xf32>, %b = %w : tensor<8x4xf32>) -> tensor<8x4xf32>
        in sram tiled <grid = [2, 1, 1], cores = [0, 1], steps = [4, 1, 1], order = [0, 1, 2]> {
      %0 = dataflow.matmul %a, %b : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    }
    %flip = manycore.task @flip(%a = %dense : tensor<8x4xf32>) -> tensor<8x4xf32>
        in dram tiled <grid = [1, 2], cores = [2, 3], steps = [2, 1], order = [0, 1]> {
      %0 = dataflow.neg %a : (tensor<8x4xf32>) -> tensor<8x4xf32>
      manycore.yield %0 : tensor<8x4xf32>
    }
    %flat = dataflow.reshape %flip : (tensor<8x4xf32>) -> tensor<32xf32>
    func.return %flat : tensor<32xf32>
  }
}
