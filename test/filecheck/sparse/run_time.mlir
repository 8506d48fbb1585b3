// What is encoded while the program runs becomes panels that the mapping unit makes, and the matrix unit takes.
// RUN: meshloom-opt %s -p 'sparse-pack{chip=tiny}' --split-input-file | filecheck %s
// RUN: meshloom-opt %s -p 'sparse-pack{chip=tiny},sparse-to-dataflow' --split-input-file --check-semantics 2>&1 >/dev/null | filecheck %s --check-prefix=SAME
// SAME-NOT: error
// SAME: sparse-pack, sparse-to-dataflow kept all results

// Encoded neurons with weights that are dense.
// CHECK-LABEL: @rows_by_dense
// CHECK: %a = sparse.panel_encode %x threshold 5.000000e-01 by <direct, outputs = 20 by 7, inputs = 30 by 30,
// CHECK-NEXT: sparse.encoded_matmul %a, %w of f32 by <direct, outputs = 20 by 7, {{.*}}> : (tensor<3x1x{{.*}}xui8>, tensor<30x6xf32>) -> tensor<20x6xf32>
module @rows_by_dense {
func.func @main(%x: tensor<20x30xf32>, %w: tensor<30x6xf32>) -> tensor<20x6xf32> {
  %a = sparse.encode %x : tensor<20x30xf32> -> tensor<20x30xf32, #sparse.index<direct, threshold = 0.5>>
  %y = sparse.matmul %a, %w : (tensor<20x30xf32, #sparse.index<direct, threshold = 0.5>>, tensor<30x6xf32>) -> tensor<20x6xf32>
  func.return %y : tensor<20x6xf32>
}
}

// -----

// Encoded weights with neurons that are dense, in any number of dimensions: as with known weights.
// CHECK-LABEL: @dense_by_columns
// CHECK: %b = sparse.panel_encode %w transposed threshold 0.000000e+00 by <stride, bits = 4, outputs = 6 by 6, inputs = 30 by 30,
// CHECK-NEXT: sparse.panel_matmul %x, %b by <stride, bits = 4,
module @dense_by_columns {
func.func @main(%x: tensor<2x20x30xf32>, %w: tensor<30x6xf32>) -> tensor<2x20x6xf32> {
  %b = sparse.encode %w : tensor<30x6xf32> -> tensor<30x6xf32, #sparse.index<stride, bits = 4, axis = 1>>
  %y = sparse.matmul %x, %b : (tensor<2x20x30xf32>, tensor<30x6xf32, #sparse.index<stride, bits = 4, axis = 1>>) -> tensor<2x20x6xf32>
  func.return %y : tensor<2x20x6xf32>
}
}

// -----

// Known weights are packed with room for what they hold.
// CHECK-LABEL: @rows_by_known
// CHECK: dataflow.constant {{.*}} : tensor<1x1x28xui8>
// CHECK: sparse.encoded_matmul %a, %{{.*}} of f32 by <direct, {{.*}}> weights <direct, outputs = 3 by 3, inputs = 4 by 4, values_at = 8, entries = 5,
module @rows_by_known {
func.func @main(%x: tensor<2x4xf32>) -> tensor<2x3xf32> {
  %w = dataflow.constant dense<[[1.0, 0.0, 2.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0], [0.0, 4.0, 5.0]]> : tensor<4x3xf32>
  %a = sparse.encode %x : tensor<2x4xf32> -> tensor<2x4xf32, #sparse.index<direct, threshold = 0.5>>
  %b = sparse.encode %w : tensor<4x3xf32> -> tensor<4x3xf32, #sparse.index<direct, axis = 1>>
  %y = sparse.matmul %a, %b : (tensor<2x4xf32, #sparse.index<direct, threshold = 0.5>>, tensor<4x3xf32, #sparse.index<direct, axis = 1>>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
}

// -----

// Fibers of the weights that run along the outputs: the mapping unit decodes them for the product.
// CHECK-LABEL: @rows_by_misfits
// CHECK: %b = sparse.panel_encode %w threshold 0.000000e+00 by <direct, outputs = 30 by 8, inputs = 6 by 6,
// CHECK: %[[W:.*]] = sparse.panel_decode %b by
// CHECK: sparse.encoded_matmul %a, %[[W]] of f32
module @rows_by_misfits {
func.func @main(%x: tensor<20x30xf32>, %w: tensor<30x6xf32>) -> tensor<20x6xf32> {
  %a = sparse.encode %x : tensor<20x30xf32> -> tensor<20x30xf32, #sparse.index<direct, threshold = 0.5>>
  %b = sparse.encode %w : tensor<30x6xf32> -> tensor<30x6xf32, #sparse.index<direct>>
  %y = sparse.matmul %a, %b : (tensor<20x30xf32, #sparse.index<direct, threshold = 0.5>>, tensor<30x6xf32, #sparse.index<direct>>) -> tensor<20x6xf32>
  func.return %y : tensor<20x6xf32>
}
}

// -----

// Windows of a convolution overlap: its neurons are decoded, its weights are taken encoded.
// CHECK-LABEL: @convolution
// CHECK: sparse.panel_encode %{{.*}} threshold 5.000000e-01 by <direct, outputs = 1 by 1, inputs = 24 by 24,
// CHECK: sparse.panel_encode %{{.*}} threshold 2.000000e-01 by <stride, bits = 2, outputs = 5 by 5, inputs = 12 by 12,
// CHECK: sparse.panel_decode
// CHECK: sparse.panel_conv %{{.*}}, %b kernel [3] strides [1] dilations [1] pad [1] to [1] groups 1
module @convolution {
func.func @main(%x: tensor<1x4x6xf32>, %w: tensor<5x4x3xf32>) -> tensor<1x5x6xf32> {
  %a = sparse.encode %x : tensor<1x4x6xf32> -> tensor<1x4x6xf32, #sparse.index<direct, threshold = 0.5>>
  %b = sparse.encode %w : tensor<5x4x3xf32> -> tensor<5x4x3xf32, #sparse.index<stride, bits = 2, threshold = 0.2>>
  %y = sparse.conv %a, %b strides [1] dilations [1] pad [1] to [1] groups 1
    : (tensor<1x4x6xf32, #sparse.index<direct, threshold = 0.5>>, tensor<5x4x3xf32, #sparse.index<stride, bits = 2, threshold = 0.2>>) -> tensor<1x5x6xf32>
  func.return %y : tensor<1x5x6xf32>
}
}

// -----

// Of encoded arguments and results, bytes are left, and a note of what they mean.
// CHECK: encoded = "{\22inputs\22: {\22c\22: {\22axis\22: 1, \22bits\22: 3, \22index\22: \22stride\22, \22shape\22: [4, 6], \22type\22: \22i1\22}}, \22outputs\22: {\22y\22: {\22axis\22: 1, \22bits\22: 3, \22index\22: \22stride\22, \22shape\22: [4, 6], \22threshold\22: 0.25, \22type\22: \22f16\22}}}"
// CHECK: func.func @main(%x: tensor<4x6xf16>, %c: tensor<1x1x40xui8> {dataflow.name = "c"}) -> (tensor<1x1x64xui8> {dataflow.name = "y"})
func.func @main(%x: tensor<4x6xf16>, %c: tensor<4x6xi1, #sparse.index<stride, bits = 3, axis = 1>> {dataflow.name = "c"}) -> (tensor<4x6xf16, #sparse.index<stride, bits = 3, axis = 1, threshold = 0.25>> {dataflow.name = "y"}) {
  %a = sparse.compact %x by %c : tensor<4x6xf16>, tensor<4x6xi1, #sparse.index<stride, bits = 3, axis = 1>> -> tensor<4x6xf16, #sparse.index<stride, bits = 3, axis = 1>>
  %d = sparse.decode %a : tensor<4x6xf16, #sparse.index<stride, bits = 3, axis = 1>> -> tensor<4x6xf16>
  %y = sparse.encode %d : tensor<4x6xf16> -> tensor<4x6xf16, #sparse.index<stride, bits = 3, axis = 1, threshold = 0.25>>
  func.return %y : tensor<4x6xf16, #sparse.index<stride, bits = 3, axis = 1, threshold = 0.25>>
}
