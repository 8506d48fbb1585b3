// Products of 8-bit integers whose operand is surrounded by its zero point, scaled and rounded at once, at every level.

// RUN: meshloom-opt %s | meshloom-opt | filecheck %s --check-prefix SYNTAX
// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'canonicalize,dataflow-to-manycore,manycore-tile{chip=tiny}' -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'canonicalize,dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory' -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -t 'emulate{chip=tiny inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p canonicalize | filecheck %s --check-prefix SUMS
// RUN: meshloom-opt %s -p 'canonicalize,dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory,memory-to-coreasm' | filecheck %s --check-prefix CODE

// x holds 0 to 3 in turn, and -5 around that. Worked out with numpy in int64 and float64.
// CHECK:      y: {{.*}} = {{.*}}57, 228, 224],
// CHECK-NEXT: [ 80, 255, 255]
// CHECK-NEXT: [ 80, 255, 255]

// SYNTAX: pad_value -5
// SYNTAX: dataflow.quantize {{.*}} zero 30 : (tensor<1x1x3x3xi32>, tensor<f32>) -> tensor<1x1x3x3xui8>

// Constants that are added to integers are added to each other.
// SUMS: dense<72>
// SUMS-NEXT: dataflow.add
// SUMS-NOT: dataflow.sub
// SUMS: dataflow.quantize

// One output channel would fill one column of the matrix unit: the vector unit is faster.
// CODE: dot.acc i8 -> i32
// CODE: quantize i32 -> u8

func.func @main(%x: tensor<1x1x6x6xi8> {dataflow.name = "x"}) -> (tensor<1x1x3x3xui8> {dataflow.name = "y"}) {
  %w = dataflow.constant dense<[[[[1, -2, 3], [4, 5, -6], [7, -8, 9]]]]> : tensor<1x1x3x3xi8>
  %c = dataflow.conv %x, %w strides [2, 2] dilations [1, 1] pad [1, 1] to [1, 1] groups 1 pad_value -5
      : (tensor<1x1x6x6xi8>, tensor<1x1x3x3xi8>) -> tensor<1x1x3x3xi32>
  %zeros = dataflow.constant dense<-65> : tensor<1x1x1x1xi32>
  %less = dataflow.sub %c, %zeros : (tensor<1x1x3x3xi32>, tensor<1x1x1x1xi32>) -> tensor<1x1x3x3xi32>
  %bias = dataflow.constant dense<7> : tensor<1x1x1x1xi32>
  %sum = dataflow.add %less, %bias : (tensor<1x1x3x3xi32>, tensor<1x1x1x1xi32>) -> tensor<1x1x3x3xi32>
  %scale = dataflow.constant dense<2.25> : tensor<f32>
  %y = dataflow.quantize %sum, %scale zero 30 : (tensor<1x1x3x3xi32>, tensor<f32>) -> tensor<1x1x3x3xui8>
  func.return %y : tensor<1x1x3x3xui8>
}
