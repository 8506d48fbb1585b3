// RUN: meshloom-opt %s -p 'dataflow-block-outputs{chip=tiny}' --check-semantics | filecheck %s
// RUN: meshloom-opt %s -p 'dataflow-block-outputs{chip=tiny},dataflow-block-outputs' | filecheck %s

// The matrix unit of `tiny` has 8 columns: 4 outputs of 2 channels fill them. The kernel then has 7 + 3 positions, and
// the bias 4 times each number. 30 outputs are 8 blocks of 4, of which 2 are left over.
// CHECK-LABEL: func.func @main
// CHECK-DAG:   [[W:%.+]] = dataflow.constant {{.*}} : tensor<8x4x1x10xf32>
// CHECK-DAG:   [[B:%.+]] = dataflow.constant {{.*}} : tensor<1x8x1x1xf32>
// CHECK-DAG:   [[C:%.+]] = dataflow.conv %x, [[W]] strides [1, 4] dilations [1, 1] pad [0, 2] to [0, 4] groups 1 : {{.*}} -> tensor<1x8x30x8xf32>
// CHECK:       [[A:%.+]] = dataflow.add [[C]], [[B]]
// CHECK-NEXT:  [[R:%.+]] = dataflow.relu [[A]]
// CHECK-NEXT:  [[S:%.+]] = dataflow.reshape [[R]] : {{.*}} -> tensor<1x2x4x30x8xf32>
// CHECK-NEXT:  [[T:%.+]] = dataflow.transpose [[S]] [0, 1, 3, 4, 2]
// CHECK-NEXT:  [[U:%.+]] = dataflow.reshape [[T]] : {{.*}} -> tensor<1x2x30x32xf32>
// CHECK-NEXT:  dataflow.slice [[U]] starts [0, 0, 0, 0] sizes [1, 2, 30, 30]
func.func @main(%x: tensor<1x4x30x32xf32>) -> tensor<1x2x30x30xf32> {
  %w = dataflow.constant dense<0.5> : tensor<2x4x1x7xf32>
  %b = dataflow.constant dense<[[[[1.0]], [[2.0]]]]> : tensor<1x2x1x1xf32>
  %c = dataflow.conv %x, %w strides [1, 1] dilations [1, 1] pad [0, 2] to [0, 2] groups 1 : (tensor<1x4x30x32xf32>, tensor<2x4x1x7xf32>) -> tensor<1x2x30x30xf32>
  %a = dataflow.add %c, %b : (tensor<1x2x30x30xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x30x30xf32>
  %r = dataflow.relu %a : (tensor<1x2x30x30xf32>) -> tensor<1x2x30x30xf32>
  func.return %r : tensor<1x2x30x30xf32>
}

// Channels fill the columns already; weights that are no constants; dilated kernels; a kernel of one position, which
// would be as many times as wide as there are outputs in a block.
// CHECK-LABEL: func.func @unchanged
// CHECK:         dataflow.conv {{.*}} strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 1
// CHECK:         dataflow.conv %x, %v strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 1
// CHECK:         dataflow.conv {{.*}} strides [1, 1] dilations [1, 2] pad [0, 0] to [0, 0] groups 1
// CHECK:         dataflow.conv {{.*}} strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 1
// CHECK-NOT:     dataflow.reshape
func.func @unchanged(%x: tensor<1x4x1x32xf32>, %v: tensor<2x4x1x7xf32>) -> (tensor<1x8x1x26xf32>, tensor<1x2x1x26xf32>, tensor<1x2x1x20xf32>, tensor<1x2x1x32xf32>) {
  %w = dataflow.constant dense<0.5> : tensor<8x4x1x7xf32>
  %k = dataflow.constant dense<0.5> : tensor<2x4x1x7xf32>
  %o = dataflow.constant dense<0.5> : tensor<2x4x1x1xf32>
  %0 = dataflow.conv %x, %w strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 1 : (tensor<1x4x1x32xf32>, tensor<8x4x1x7xf32>) -> tensor<1x8x1x26xf32>
  %1 = dataflow.conv %x, %v strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 1 : (tensor<1x4x1x32xf32>, tensor<2x4x1x7xf32>) -> tensor<1x2x1x26xf32>
  %2 = dataflow.conv %x, %k strides [1, 1] dilations [1, 2] pad [0, 0] to [0, 0] groups 1 : (tensor<1x4x1x32xf32>, tensor<2x4x1x7xf32>) -> tensor<1x2x1x20xf32>
  %3 = dataflow.conv %x, %o strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 1 : (tensor<1x4x1x32xf32>, tensor<2x4x1x1xf32>) -> tensor<1x2x1x32xf32>
  func.return %0, %1, %2, %3 : tensor<1x8x1x26xf32>, tensor<1x2x1x26xf32>, tensor<1x2x1x20xf32>, tensor<1x2x1x32xf32>
}
