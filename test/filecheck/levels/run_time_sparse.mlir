// One program that encodes neurons and weights while it runs, at every level: index and values, panels in tasks, buffers
// in memory, instructions, a binary in the emulator.

// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'sparse-pack{chip=tiny}' -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'sparse-pack{chip=tiny},dataflow-to-manycore,manycore-tile{chip=tiny}' -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'sparse-pack{chip=tiny},dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory' -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'sparse-pack{chip=tiny},dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory' -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'sparse-pack{chip=tiny},dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory,memory-to-coreasm' -t 'emulate{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p 'sparse-pack{chip=tiny},dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory,memory-to-coreasm' | filecheck %s --check-prefix=CODE
// RUN: meshloom-compile %s --chip tiny -o %t.mlx
// RUN: meshloom-objdump %t.mlx > %t.list && meshloom-as %t.list -o %t.again.mlx && cmp %t.mlx %t.again.mlx

// x counts -3, -2 ... 3, -3 ... over [2, 5], w the same over [3, 5]; magnitudes of 1 are left out of x, and of 2 of w.
// Kept are -3 -2 . . . / 2 3 -3 -2 . and -3 . . . . / . 3 -3 . . / . . . 3 -3.
// CHECK: y: {{.*}} = {{\[\[}} 9., -6.,  0.],
// CHECK-NEXT: [-6., 18., -6.]]
// In connection data, counting 0 to 3, what is not 0 connects: all but the first and the fifth of each four.
// CHECK: z: {{.*}} = {{\[\[}} 0., -2., -1.,  0.,  0.],
// CHECK-NEXT: [ 2.,  3., -3.,  0., -1.]]

// CODE-DAG: encode f32 {{.*}} 1.0, cycles =
// CODE-DAG: encode f32 {{.*}} 2.0, cycles =
// CODE-DAG: matmul.xw f32
// CODE-DAG: combine bool
// CODE-DAG: compact f32
// CODE-DAG: decode f32
func.func @main(%x: tensor<2x5xf32> {dataflow.name = "x"}, %w: tensor<3x5xf32> {dataflow.name = "w"}, %c: tensor<2x5xi1, #sparse.index<stride, bits = 2>> {dataflow.name = "c"}, %d: tensor<2x5xi1, #sparse.index<direct>> {dataflow.name = "d"}) -> (tensor<2x3xf32> {dataflow.name = "y"}, tensor<2x5xf32> {dataflow.name = "z"}) {
  %a = sparse.encode %x : tensor<2x5xf32> -> tensor<2x5xf32, #sparse.index<direct, threshold = 1.0>>
  %b = sparse.encode %w : tensor<3x5xf32> -> tensor<3x5xf32, #sparse.index<stride, bits = 2, threshold = 2.0>>
  %y = sparse.matmul %a, %b transpose_b
    : (tensor<2x5xf32, #sparse.index<direct, threshold = 1.0>>, tensor<3x5xf32, #sparse.index<stride, bits = 2, threshold = 2.0>>) -> tensor<2x3xf32>
  %both = sparse.combine %c, %d
    : tensor<2x5xi1, #sparse.index<stride, bits = 2>>, tensor<2x5xi1, #sparse.index<direct>> -> tensor<2x5xi1, #sparse.index<stride, bits = 3>>
  %e = sparse.compact %x by %both : tensor<2x5xf32>, tensor<2x5xi1, #sparse.index<stride, bits = 3>> -> tensor<2x5xf32, #sparse.index<stride, bits = 3>>
  %z = sparse.decode %e : tensor<2x5xf32, #sparse.index<stride, bits = 3>> -> tensor<2x5xf32>
  func.return %y, %z : tensor<2x3xf32>, tensor<2x5xf32>
}
