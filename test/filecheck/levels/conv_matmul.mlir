// One program at every level: whole tensors, tasks on one core, tasks cut over four
// cores, buffers in memory, instructions, a binary in the emulator.

// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p dataflow-to-manycore -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'dataflow-to-manycore,manycore-tile{chip=tiny}' -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory' -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -t 'emulate{chip=tiny inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'dataflow-to-manycore,manycore-tile{chip=tiny}' -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory' -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory,memory-to-coreasm' -t 'emulate{inputs=iota}' | filecheck %s

// All values are small whole numbers, so no order of additions changes a bit. Worked out with numpy.
// CHECK:      y: {{.*}} = {{\[\[}}-272.,  -86.,   86.,  272., -200.,    0.,  200., -272.,  -86.,   86.]]
// CHECK-NEXT: class: {{.*}} = {{\[\[}}3]]

func.func @main(%x: tensor<1x3x24x24xf32> {dataflow.name = "x"}, %w: tensor<8x3x3x3xf32> {dataflow.name = "w"},
                %b: tensor<1x8x1x1xf32> {dataflow.name = "b"}, %m: tensor<72x10xf32> {dataflow.name = "m"})
    -> (tensor<1x10xf32> {dataflow.name = "y"}, tensor<1x1xi64> {dataflow.name = "class"}) {
  %0 = dataflow.conv %x, %w strides [1, 1] dilations [1, 1] pad [1, 1] to [1, 1] groups 1
      : (tensor<1x3x24x24xf32>, tensor<8x3x3x3xf32>) -> tensor<1x8x24x24xf32>
  %1 = dataflow.add %0, %b : (tensor<1x8x24x24xf32>, tensor<1x8x1x1xf32>) -> tensor<1x8x24x24xf32>
  %2 = dataflow.relu %1 : (tensor<1x8x24x24xf32>) -> tensor<1x8x24x24xf32>
  %3 = dataflow.reduce_window max %2 window [1, 1, 8, 8] strides [1, 1, 8, 8] dilations [1, 1, 1, 1] pad [0, 0, 0, 0] to [0, 0, 0, 0]
      : (tensor<1x8x24x24xf32>) -> tensor<1x8x3x3xf32>
  %4 = dataflow.reshape %3 : (tensor<1x8x3x3xf32>) -> tensor<1x72xf32>
  %5 = dataflow.matmul %4, %m : (tensor<1x72xf32>, tensor<72x10xf32>) -> tensor<1x10xf32>
  %6 = dataflow.arg_reduce max %5 axis 1 : (tensor<1x10xf32>) -> tensor<1x1xi64>
  func.return %5, %6 : tensor<1x10xf32>, tensor<1x1xi64>
}
