// One program with encoded weights at every level: index and values, panels in tasks cut over four cores, buffers in
// memory, a binary in the emulator.

// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'sparse-pack{chip=tiny},dataflow-to-manycore,manycore-tile{chip=tiny}' -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'sparse-pack{chip=tiny},dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory' -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -t 'emulate{chip=tiny inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'sparse-pack{chip=tiny},dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory' -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'sparse-pack{chip=tiny},dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory,memory-to-coreasm' -t 'emulate{inputs=iota}' | filecheck %s

// All values are small whole numbers, so no order of additions changes a bit. Worked out with numpy.
// CHECK: y: {{.*}} = {{\[\[}}-13.,  24.,  37.,   0.,   0.,   0.,  12.,  27.,  14.,  23.]]

func.func @main(%x: tensor<1x2x8xf32> {dataflow.name = "x"}) -> (tensor<1x10xf32> {dataflow.name = "y"}) {
  %w = dataflow.constant dense<[[[2., 0., 0.], [0., 0., 3.]], [[0., 0., 0.], [0., -2., -1.]], [[0., 0., 0.], [0., 1., 0.]], [[0., 0., 0.], [3., 0., 0.]], [[3., 0., 0.], [2., 3., 0.]], [[0., 0., 0.], [3., 0., 0.]]]> : tensor<6x2x3xf32>
  %v = dataflow.constant dense<[[-3., 0., 3., 0., 0., 0., 0., -1., 0., 3.], [0., 0., 0., 0., -3., 0., 0., 3., 0., 0.], [0., -1., 0., 0., 0., 0., 0., 0., 0., 3.], [0., 0., 0., 0., 0., 0., -3., 0., 0., 0.], [-1., 0., -1., 0., 0., 0., 0., 0., 0., 0.], [0., 0., 0., 0., 0., 0., 0., 0., 0., 0.], [0., 0., 0., 0., 0., 0., 1., 0., 0., -3.], [-1., 0., 3., 0., 0., 0., 0., 0., 0., 0.], [2., 0., 0., 0., 0., 0., 1., 1., 0., 0.], [0., 0., 0., 0., 1., 0., 0., 0., 0., 0.], [0., 0., 0., 0., 0., 0., 0., 0., 2., -2.], [0., -2., 0., 0., 0., 0., 0., 0., 0., 0.], [0., 0., 0., 0., 2., -3., 0., 0., 0., 0.], [0., 0., 0., -1., 0., 0., 0., 0., 0., -1.], [0., 2., 0., 0., 0., 0., 0., 0., 0., 0.], [0., 0., 1., 0., 0., 0., 1., 0., 0., -1.], [0., 1., 0., 0., 0., -3., 0., 0., 0., 0.], [1., 3., 3., 0., 3., 0., 2., 0., 0., 0.], [0., 0., 0., 0., 0., 0., 0., 0., 2., 0.], [0., 0., 3., 0., 0., 0., 0., 0., -2., 0.], [-1., 0., -3., -3., 0., 3., 0., 1., 0., 0.], [0., 1., 0., 2., -2., 0., 0., 3., -2., 0.], [0., 0., 0., 0., 0., 0., 1., 0., 0., 0.], [0., 3., 0., 0., 0., 0., 0., 3., 0., 1.]]> : tensor<24x10xf32>
  %0 = sparse.encode %w : tensor<6x2x3xf32> -> tensor<6x2x3xf32, #sparse.index<stride, bits = 3>>
  %1 = sparse.conv %x, %0 strides [2] dilations [1] pad [1] to [1] groups 1
    : (tensor<1x2x8xf32>, tensor<6x2x3xf32, #sparse.index<stride, bits = 3>>) -> tensor<1x6x4xf32>
  %2 = dataflow.relu %1 : (tensor<1x6x4xf32>) -> tensor<1x6x4xf32>
  %3 = dataflow.reshape %2 : (tensor<1x6x4xf32>) -> tensor<1x24xf32>
  %4 = sparse.encode %v : tensor<24x10xf32> -> tensor<24x10xf32, #sparse.index<direct, axis = 1>>
  %5 = sparse.matmul %3, %4 : (tensor<1x24xf32>, tensor<24x10xf32, #sparse.index<direct, axis = 1>>) -> tensor<1x10xf32>
  func.return %5 : tensor<1x10xf32>
}
