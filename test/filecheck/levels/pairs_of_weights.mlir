// Weights of 4 bits, two a byte, at every level: the cores widen them, or multiply their integers as they are.

// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'dataflow-to-manycore,manycore-tile{chip=tiny}' -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory' -o %t.memory.mlir
// RUN: meshloom-opt %t.memory.mlir -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %t.memory.mlir -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %t.memory.mlir -p memory-to-coreasm | filecheck %s --check-prefix CODE

// The integers in the bytes 0, 1, 2, ... of `w` are 0 0, 1 0, 2 0 and so on: few, so that no order of additions changes
// a bit. Worked out with numpy.
// CHECK:      once: {{.*}} = {{\[\[}} 0., -3., -6., -9.]]
// CHECK:      conv: {{.*}} = {{\[\[\[\[}} -2.,  -1.],
// CHECK-NEXT:    [  0.,   1.]],
// CHECK:        {{\[\[}}-12.,  -7.],
// CHECK-NEXT:    [ -2.,   3.]]]]
// CHECK:      integers: {{.*}} = {{\[\[}} 0,  2,  4,  6],
// CHECK-NEXT:  [ 0,  4,  8, 12],

// CODE-DAG: dot.low4 f32 -> i8
// CODE-DAG: dot.high4.acc f32 -> i8
// CODE-DAG: low4 u8 -> f32
// CODE-DAG: high4 u8 -> f32
// CODE-DAG: low4 i8 [

func.func @main(%x: tensor<1x5xf32> {dataflow.name = "x"}, %w: tensor<3x4xvector<2xi4>> {dataflow.name = "w"},
                %image: tensor<1x3x2x2xf32> {dataflow.name = "image"},
                %kernel: tensor<2x2x1x1xvector<2xui4>> {dataflow.name = "kernel"},
                %q: tensor<4x6xi8> {dataflow.name = "q"})
    -> (tensor<1x4xf32> {dataflow.name = "once"}, tensor<1x2x2x2xf32> {dataflow.name = "conv"},
        tensor<4x4xi32> {dataflow.name = "integers"}) {
  %once = dataflow.matmul %x, %w : (tensor<1x5xf32>, tensor<3x4xvector<2xi4>>) -> tensor<1x4xf32>
  %conv = dataflow.conv %image, %kernel strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 1
      : (tensor<1x3x2x2xf32>, tensor<2x2x1x1xvector<2xui4>>) -> tensor<1x2x2x2xf32>
  %integers = dataflow.matmul %q, %w : (tensor<4x6xi8>, tensor<3x4xvector<2xi4>>) -> tensor<4x4xi32>
  func.return %once, %conv, %integers : tensor<1x4xf32>, tensor<1x2x2x2xf32>, tensor<4x4xi32>
}
