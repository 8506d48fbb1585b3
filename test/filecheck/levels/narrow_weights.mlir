// Weights of 8 bits beside floats at every level: the cores widen them, or multiply them as they are.

// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'dataflow-to-manycore,manycore-tile{chip=tiny}' -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory' -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -t 'emulate{chip=tiny inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory' -o %t.memory.mlir
// RUN: meshloom-opt %t.memory.mlir -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %t.memory.mlir -p memory-to-coreasm | filecheck %s --check-prefix CODE

// The memory for widening is a buffer like others: one that is too small is refused.
// RUN: sed -e "s/<128xui8, sram/<64xui8, sram/" %t.memory.mlir > %t.small.mlir
// RUN: not meshloom-opt %t.small.mlir -p memory-to-coreasm 2>&1 | filecheck %s --check-prefix SMALL

// All values are small whole numbers, so no order of additions changes a bit. Worked out with numpy.
// CHECK:      y: {{.*}} = {{\[\[}}339., 339., 339.]]

// CODE: mov i8 -> f32
// CODE: dot.byte f32 -> u8
// SMALL: widens

func.func @main(%x: tensor<1x4x6x6xf32> {dataflow.name = "x"}) -> (tensor<1x3xf32> {dataflow.name = "y"}) {
  %w = dataflow.constant dense<[[[[1, -2], [3, 0]]], [[[-4, 5], [1, 1]]]]> : tensor<2x1x2x2xi8>
  %four = dataflow.concat %w, %w, %w, %w axis 1
      : (tensor<2x1x2x2xi8>, tensor<2x1x2x2xi8>, tensor<2x1x2x2xi8>, tensor<2x1x2x2xi8>) -> tensor<2x4x2x2xi8>
  %c = dataflow.conv %x, %four strides [2, 2] dilations [1, 1] pad [0, 0] to [0, 0] groups 1
      : (tensor<1x4x6x6xf32>, tensor<2x4x2x2xi8>) -> tensor<1x2x3x3xf32>
  %rows = dataflow.reshape %c : (tensor<1x2x3x3xf32>) -> tensor<1x18xf32>
  %i = dataflow.iota axis 0 : tensor<18x3xui8>
  %m = dataflow.matmul %rows, %i : (tensor<1x18xf32>, tensor<18x3xui8>) -> tensor<1x3xf32>
  func.return %m : tensor<1x3xf32>
}
