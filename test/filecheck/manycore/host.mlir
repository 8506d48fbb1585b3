// An input that the host copies in two blocks, and an output that it copies from two: printed, simplified, interpreted,
// and lowered to a copy for each block.
// RUN: meshloom-opt %s | meshloom-opt | filecheck %s
// RUN: meshloom-opt %s --print-op-generic | meshloom-opt | filecheck %s
// RUN: meshloom-opt %s -p canonicalize,cse | filecheck %s
// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s --check-prefix=VALUES
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory | filecheck %s --check-prefix=MEMORY
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory,memory-to-coreasm \
// RUN:   | filecheck %s --check-prefix=COREASM
// RUN: meshloom-opt %s -t 'emulate{inputs=iota}' | filecheck %s --check-prefix=VALUES

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: tensor<2x8xf32> {dataflow.name = "x"}) -> (tensor<16xf32> {dataflow.name = "y"}) {
    %first = manycore.host_slice %x starts [0, 0] sizes [1, 8] : (tensor<2x8xf32>) -> tensor<1x8xf32>
    %second = manycore.host_slice %x starts [1, 0] sizes [1, 8] : (tensor<2x8xf32>) -> tensor<1x8xf32>
    %a = dataflow.neg %first : (tensor<1x8xf32>) -> tensor<1x8xf32>
    %b = dataflow.relu %second : (tensor<1x8xf32>) -> tensor<1x8xf32>
    %c = dataflow.reshape %a : (tensor<1x8xf32>) -> tensor<8xf32>
    %d = dataflow.reshape %b : (tensor<1x8xf32>) -> tensor<8xf32>
    %y = manycore.host_concat %c, %d : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
    func.return %y : tensor<16xf32>
  }
}

// CHECK:      %first = manycore.host_slice %x starts [0, 0] sizes [1, 8] : (tensor<2x8xf32>) -> tensor<1x8xf32>
// CHECK:      %second = manycore.host_slice %x starts [1, 0] sizes [1, 8] : (tensor<2x8xf32>) -> tensor<1x8xf32>
// CHECK:      %y = manycore.host_concat %c, %d : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>

// iota counts -3 to 3 and begins again: the rows of x are -3 -2 -1 0 1 2 3 -3 and -2 -1 0 1 2 3 -3 -2.
// VALUES: y: tensor<16xf32> = [ 3.,  2.,  1., -0., -1., -2., -3.,  3.,  0.,  0.,  0.,  1.,  2.,  3.,  0.,  0.]

// MEMORY:      memory.copy %{{.*}}, %{{.*}} to %{{.*}}, %{{.*}} : !memory.buffer<32xui8, host, 0>, !memory.buffer<32xui8, host, 32> to
// MEMORY:      manycore.launch @all
// MEMORY-NOT:  manycore.host
// MEMORY:      memory.copy %a, %b to %{{.*}}, %{{.*}} : {{.*}} to !memory.buffer<1x8xf32, host, 64>, !memory.buffer<1x8xf32, host, 96>

// COREASM:      ctl.h2d dram = 0x0, host = 0x0 tag(0) bytes(32)
// COREASM-NEXT: ctl.h2d dram = 0x40, host = 0x20 tag(0) bytes(32)
// COREASM:      ctl.d2h dram = 0x80, host = 0x40 tag(1) bytes(32)
// COREASM-NEXT: ctl.d2h dram = 0xc0, host = 0x60 tag(1) bytes(32)
