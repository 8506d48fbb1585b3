// A program of the `memory` level, written by hand, and what small edits of its text do to instructions and to a run.
// y = (x w) c: the product on four cores in four steps, through DRAM, the rest on two cores.

// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s --check-prefix VALUES
// RUN: meshloom-opt %s -t 'emulate{inputs=iota cycles=true}' -o %t.base
// RUN: filecheck %s --check-prefix VALUES --input-file %t.base
// RUN: grep cycles: %t.base > %t.base.cycles
// RUN: meshloom-opt %s -p memory-to-coreasm -o %t.base.mlir
// RUN: filecheck %s --input-file %t.base.mlir

// Another SRAM offset of the staging buffer: another address in the instructions.
// RUN: sed 's/sram, 256>/sram, 4096>/g' %s > %t.offset.mlir
// RUN: meshloom-opt %t.offset.mlir -p memory-to-coreasm | filecheck %s --check-prefix OFFSET
// RUN: meshloom-opt %t.offset.mlir -t 'emulate{inputs=iota}' | filecheck %s --check-prefix VALUES

// The factors of @scale are loaded in the last step of @dense: their load moves up, and the run takes fewer cycles.
// RUN: sed '/for @scale.1./d' %s > %t.without.mlir
// RUN: sed 's/^ *manycore.compute  .. the last/memory.load %%cd to %%cs for @scale[1] step 0 : !memory.buffer<8x4xf32, dram, 256> to !memory.buffer<4x4xf32, sram, 512>\n&/' %t.without.mlir > %t.early.mlir
// RUN: meshloom-opt %t.early.mlir -p memory-to-coreasm | filecheck %s --check-prefix EARLY
// RUN: meshloom-opt %t.early.mlir -t 'interpret{inputs=iota}' | filecheck %s --check-prefix VALUES
// RUN: meshloom-opt %t.early.mlir -t 'emulate{inputs=iota cycles=true}' -o %t.early
// RUN: filecheck %s --check-prefix VALUES --input-file %t.early
// RUN: grep cycles: %t.early > %t.shorter
// RUN: cat %t.base.cycles >> %t.shorter
// RUN: sort --check --unique --numeric-sort --key 2 %t.shorter

// Cores share the loads of the weights (256 bytes) and send them to each other: puts, and 768 bytes less from DRAM.
// RUN: sed 's/for @dense.1. all/& multicast 4/' %s > %t.put.mlir
// RUN: meshloom-opt %t.put.mlir -p memory-to-coreasm | filecheck %s --check-prefix PUT
// RUN: meshloom-opt %t.put.mlir -t 'interpret{inputs=iota}' | filecheck %s --check-prefix VALUES
// RUN: meshloom-opt %t.put.mlir -t 'emulate{inputs=iota}' | filecheck %s --check-prefix VALUES
// RUN: meshloom-compile %t.put.mlir -q -o %t.put.mlx
// RUN: meshloom-compile %s -q -o %t.mlx
// RUN: meshloom-run %t.mlx --random 0 --validate | filecheck %s --check-prefix EACH
// RUN: meshloom-run %t.put.mlx --random 0 --validate | filecheck %s --check-prefix SHARED
// There are no groups of five cores.
// RUN: sed 's/for @dense.1. all/& multicast 5/' %s > %t.five.mlir
// RUN: meshloom-compile %t.five.mlir -q -o %t.five.mlx
// RUN: diff %t.mlx %t.five.mlx

// Another order of the first loads: weights, then rows.
// RUN: sed -e '/for @dense.0. step 0/{h;d;}' -e '/for @dense.1. all/G' %s > %t.order.mlir
// RUN: meshloom-opt %t.order.mlir -p memory-to-coreasm | filecheck %s --check-prefix ORDER
// RUN: meshloom-opt %t.order.mlir -t 'emulate{inputs=iota}' | filecheck %s --check-prefix VALUES

// One buffer for the columns of x, in place of two: those of the next step would overwrite those in use. Loaded after the
// computation, they do not; nothing overlaps then, and the run takes more cycles.
// RUN: sed -e 's/, %%x1 : !memory.buffer<2x4xf32, sram, 384>//' -e 's/%%x0, %%x1 for/%%x0 for/' -e 's/, !memory.buffer<2x4xf32, sram, 384>$//' -e 's/slots .2/slots [1/' %s > %t.one.mlir
// RUN: not meshloom-opt %t.one.mlir -t interpret 2>&1 | filecheck %s --check-prefix OVERWRITTEN
// RUN: not meshloom-opt %t.one.mlir -t emulate 2>&1 | filecheck %s --check-prefix OVERWRITTEN
// RUN: sed -e '/for @dense.0. step +1/{h;d;}' -e '/not pipelined/G' %t.one.mlir > %t.late.mlir
// RUN: meshloom-opt %t.late.mlir -t 'interpret{inputs=iota}' | filecheck %s --check-prefix VALUES
// RUN: meshloom-opt %t.late.mlir -t 'emulate{inputs=iota cycles=true}' -o %t.late
// RUN: filecheck %s --check-prefix VALUES --input-file %t.late
// RUN: grep cycles: %t.late > %t.late.cycles
// RUN: cat %t.base.cycles %t.late.cycles > %t.longer
// RUN: sort --check --unique --numeric-sort --key 2 %t.longer

// x holds -3 to 3 in turn, w 0.5, c 2: sums of rows, by numpy.
// VALUES:      y: {{.*}} = {{\[\[}}-5., -5., -5., -5.],
// VALUES-NEXT: [-1., -1., -1., -1.],
// VALUES-NEXT: [ 3.,  3.,  3.,  3.],
// VALUES-NEXT: [ 0.,  0.,  0.,  0.],
// VALUES-NEXT: [-3., -3., -3., -3.],
// VALUES-NEXT: [ 1.,  1.,  1.,  1.],
// VALUES-NEXT: [ 5.,  5.,  5.,  5.],
// VALUES-NEXT: [-5., -5., -5., -5.]]

// CHECK:      coreasm.program @launch0.0
// CHECK:      load f32 [0x140, {{.*}}], dram[0x180, {{.*}} from "dense"
// CHECK-NEXT: load f32 [0x0, {{.*}}], dram[0x0, {{.*}} from "dense"
// CHECK-NEXT: load f32 [0x180, {{.*}}], dram[0x190, {{.*}} from "dense"
// CHECK-NEXT: dot f32 [0x100,
// CHECK:      load f32 {{.*}} from "scale"
// CHECK-NEXT: load f32 [0x200, {{.*}}], dram[0x100, {{.*}} from "scale"
// CHECK:      mul f32

// OFFSET:     coreasm.program @launch0.0
// OFFSET-NOT: dot{{.*}} [0x100,
// OFFSET:     dot f32 [0x1000, {{.*}}], [0x140,
// OFFSET:     store f32 {{.*}}, [0x1000,

// EARLY:      coreasm.program @launch0.0
// EARLY:      load f32 [0x200, {{.*}}], dram[0x100, {{.*}} from "scale"
// EARLY:      store f32 {{.*}} from "dense"
// EARLY-NOT:  [0x200, {{.*}}], dram
// EARLY:      mul f32

// PUT: put{{.*}} from "dense"
// EACH: traffic  DRAM 2,304 bytes read
// SHARED: traffic  DRAM 1,536 bytes read

// OVERWRITTEN: one.mlir:{{[0-9]+}}:{{[0-9]+}}: error: task @dense{{.*}} uses read 0 in step 0{{.*}} after a later slice has taken its buffer
// OVERWRITTEN: manycore.execute @dense

// ORDER:      coreasm.program @launch0.0
// ORDER:      load f32 [0x0, {{.*}}], dram[0x0, {{.*}} from "dense"
// ORDER-NEXT: load f32 [0x140, {{.*}} from "dense"
builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: !memory.buffer<8x16xf32, host, 0> {dataflow.name = "x"}) -> (!memory.buffer<8x4xf32, host, 512> {dataflow.name = "y"}) {
    %y = memory.alloc : !memory.buffer<8x4xf32, host, 512>
    %w = dataflow.constant dense<0.5> : tensor<16x4xf32>
    %wd = memory.global %w : tensor<16x4xf32> in !memory.buffer<16x4xf32, dram, 0>
    %c = dataflow.constant dense<2.0> : tensor<8x4xf32>
    %cd = memory.global %c : tensor<8x4xf32> in !memory.buffer<8x4xf32, dram, 256>
    %xd = memory.alloc : !memory.buffer<8x16xf32, dram, 384>
    %in = memory.copy %x to %xd : !memory.buffer<8x16xf32, host, 0> to !memory.buffer<8x16xf32, dram, 384>
    memory.wait %in
    %yd = memory.alloc : !memory.buffer<8x4xf32, dram, 896>
    %run = manycore.launch @all {
      %h = memory.alloc : !memory.buffer<8x4xf32, dram, 1024>
      %ws = memory.alloc : !memory.buffer<16x4xf32, sram, 0>
      %x0 = memory.alloc : !memory.buffer<2x4xf32, sram, 320>
      %x1 = memory.alloc : !memory.buffer<2x4xf32, sram, 384>
      %hs = memory.alloc : !memory.buffer<4x4xf32, sram, 448>
      %cs = memory.alloc : !memory.buffer<4x4xf32, sram, 512>
      %staging = memory.alloc : !memory.buffer<2x4xf32, sram, 256>
      manycore.execute @dense(%a = %xd : !memory.buffer<8x16xf32, dram, 384> as tensor<8x16xf32>,
                              %b = %wd : !memory.buffer<16x4xf32, dram, 0> as tensor<16x4xf32>)
          into %h : !memory.buffer<8x4xf32, dram, 1024>
          reads(%x0 : !memory.buffer<2x4xf32, sram, 320>, %x1 : !memory.buffer<2x4xf32, sram, 384>, %ws : !memory.buffer<16x4xf32, sram, 0>)
          staging(%staging : !memory.buffer<2x4xf32, sram, 256>) slots [2, 1] uses [0, 1] writes [0]
          tiled <grid = [4, 1, 1], cores = [0, 1, 2, 3], steps = [1, 1, 4], order = [0, 1, 2]> {
        %0 = dataflow.matmul %a, %b : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
        manycore.yield %0 : tensor<8x4xf32>
      } begin {
        memory.load %xd to %x0, %x1 for @dense[0] step 0 : !memory.buffer<8x16xf32, dram, 384> to !memory.buffer<2x4xf32, sram, 320>, !memory.buffer<2x4xf32, sram, 384>
        memory.load %wd to %ws for @dense[1] all : !memory.buffer<16x4xf32, dram, 0> to !memory.buffer<16x4xf32, sram, 0>
      } steps {
        memory.load %xd to %x0, %x1 for @dense[0] step +1 : !memory.buffer<8x16xf32, dram, 384> to !memory.buffer<2x4xf32, sram, 320>, !memory.buffer<2x4xf32, sram, 384>
        manycore.compute  // not pipelined
      } last {
        manycore.compute  // the last
        memory.store %staging to %h : !memory.buffer<2x4xf32, sram, 256> to !memory.buffer<8x4xf32, dram, 1024>
      }
      memory.free %staging : !memory.buffer<2x4xf32, sram, 256>
      memory.free %ws : !memory.buffer<16x4xf32, sram, 0>
      %ys = memory.alloc : !memory.buffer<4x4xf32, sram, 0>
      manycore.execute @scale(%a = %h : !memory.buffer<8x4xf32, dram, 1024> as tensor<8x4xf32>,
                              %b = %cd : !memory.buffer<8x4xf32, dram, 256> as tensor<8x4xf32>)
          into %yd : !memory.buffer<8x4xf32, dram, 896>
          reads(%hs : !memory.buffer<4x4xf32, sram, 448>, %cs : !memory.buffer<4x4xf32, sram, 512>)
          staging(%ys : !memory.buffer<4x4xf32, sram, 0>) slots [1, 1] uses [0, 1] writes [0]
          tiled <grid = [2, 1], cores = [0, 1], steps = [1, 1], order = [0, 1]> {
        %0 = dataflow.mul %a, %b : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
        manycore.yield %0 : tensor<8x4xf32>
      } begin {
        memory.load %h to %hs for @scale[0] step 0 : !memory.buffer<8x4xf32, dram, 1024> to !memory.buffer<4x4xf32, sram, 448>
        memory.load %cd to %cs for @scale[1] step 0 : !memory.buffer<8x4xf32, dram, 256> to !memory.buffer<4x4xf32, sram, 512>
      } last {
        manycore.compute
        memory.store %ys to %yd : !memory.buffer<4x4xf32, sram, 0> to !memory.buffer<8x4xf32, dram, 896>
      }
    }
    memory.wait %run
    %out = memory.copy %yd to %y : !memory.buffer<8x4xf32, dram, 896> to !memory.buffer<8x4xf32, host, 512>
    memory.wait %out
    func.return %y : !memory.buffer<8x4xf32, host, 512>
  }
}
