// RUN: meshloom-opt %s -p manycore-to-memory --check-semantics | filecheck %s
// RUN: meshloom-opt %s -p manycore-to-memory | meshloom-opt | filecheck %s
// RUN: meshloom-opt %s -p manycore-to-memory | meshloom-opt --print-op-generic | meshloom-opt | filecheck %s

// Addresses are multiples of 64. DRAM holds constants first (128 bytes), then inputs (256), then results. The tile of @dense
// lives until its reader has run. Its operand %x, another slice in each of four steps, has two buffers that are used in
// turn; the weights are the same in all steps and have one. @flip runs on other cores: its slice of 8 x 2 is gathered once,
// into memory that is free while @dense still runs.

// CHECK:      func.func @main(%x: !memory.buffer<8x8xf32, dram, 128>) -> !memory.buffer<32xf32, dram, 384>
// CHECK-NEXT: %flip = memory.alloc : !memory.buffer<8x4xf32, dram, 384>
// CHECK:      memory.hold %w : tensor<8x4xf32> in !memory.buffer<8x4xf32, dram, 0>
// CHECK-NEXT: %dense = memory.alloc {live = array<i64: 0, 1>} : !memory.buffer<4x4xf32, sram, {{[0-9]+}}>
// CHECK-NEXT: %dense_read0 = memory.alloc {live = array<i64: 0, 0>} : !memory.buffer<1x8xf32, sram, {{[0-9]+}}>
// CHECK-NEXT: %dense_read0_1 = memory.alloc {live = array<i64: 0, 0>} : !memory.buffer<1x8xf32, sram, {{[0-9]+}}>
// CHECK-NEXT: %dense_read1 = memory.alloc {live = array<i64: 0, 0>} : !memory.buffer<8x4xf32, sram, {{[0-9]+}}>
// CHECK-NEXT: %flip_read0 = memory.alloc {live = array<i64: 0, 1>} : !memory.buffer<8x2xf32, sram, {{[0-9]+}}>
// CHECK-NEXT: manycore.execute @dense({{.*}}) into %dense : {{.*}} slots [2, 1] uses [0, 1] writes [0] tiled
// CHECK:      memory.free %dense_read0
// CHECK-NEXT: memory.free %dense_read0_1
// CHECK-NEXT: memory.free %dense_read1
// CHECK-NEXT: %flip_staging = memory.alloc {live = array<i64: 1, 1>} : !memory.buffer<4x2xf32, sram, {{[0-9]+}}>
// CHECK-NEXT: %flip_staging_1 = memory.alloc
// CHECK-NEXT: manycore.execute @flip({{.*}} = %dense : {{.*}}) into %flip : {{.*}} reads(%flip_read0 : {{.*}}) staging(%flip_staging : {{.*}}, %flip_staging_1 : {{.*}}) slots [1] uses [0] writes [0] tiled
// CHECK:      memory.free %dense :
// CHECK:      [[VIEW:%.+]] = memory.view %flip : !memory.buffer<8x4xf32, dram, 384> as !memory.buffer<32xf32, dram, 384>
// CHECK-NEXT: func.return [[VIEW]]
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
