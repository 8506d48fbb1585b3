// RUN: meshloom-opt %s | meshloom-opt | filecheck %s
// RUN: meshloom-opt %s --print-op-generic | meshloom-opt | filecheck %s

// CHECK:      func.func @main(%x: tensor<2x5xf32>, %w: tensor<5x3xf32>, %c: tensor<2x5xi1, #sparse.index<direct>>) {
func.func @main(%x: tensor<2x5xf32>, %w: tensor<5x3xf32>, %c: tensor<2x5xi1, #sparse.index<direct>>) {
  // CHECK-NEXT: %0 = sparse.encode %x : tensor<2x5xf32> -> tensor<2x5xf32, #sparse.index<direct, threshold = 0.5>>
  %0 = sparse.encode %x : tensor<2x5xf32> -> tensor<2x5xf32, #sparse.index<direct, axis = 0, threshold = 0.5, group = 1>>
  // CHECK-NEXT: %1 = sparse.decode %0 : tensor<2x5xf32, #sparse.index<direct, threshold = 0.5>> -> tensor<2x5xf32>
  %1 = sparse.decode %0 : tensor<2x5xf32, #sparse.index<direct, threshold = 0.5>> -> tensor<2x5xf32>
  // CHECK-NEXT: %2 = sparse.encode %w width 2 : tensor<5x3xf32> -> tensor<5x3xf32, #sparse.index<stride, bits = 5, axis = 1, threshold = 1.0e-07, group = 4>>
  %2 = sparse.encode %w width 2 : tensor<5x3xf32> -> tensor<5x3xf32, #sparse.index<stride, bits = 5, axis = 1, threshold = 1.0e-07, group = 4>>
  // CHECK-NEXT: %3 = sparse.encode %w : tensor<5x3xf32> -> tensor<5x3xf32, #sparse.index<direct, order = input, axis = 1>>
  %3 = sparse.encode %w : tensor<5x3xf32> -> tensor<5x3xf32, #sparse.index<direct, order = input, axis = 1>>
  // CHECK-NEXT: %4 = sparse.connections %0 : tensor<2x5xf32, #sparse.index<direct, threshold = 0.5>> -> tensor<2x5xi1, #sparse.index<direct, threshold = 0.5>>
  %4 = sparse.connections %0 : tensor<2x5xf32, #sparse.index<direct, threshold = 0.5>> -> tensor<2x5xi1, #sparse.index<direct, threshold = 0.5>>
  // CHECK-NEXT: %5 = sparse.combine %4, %c : tensor<2x5xi1, #sparse.index<direct, threshold = 0.5>>, tensor<2x5xi1, #sparse.index<direct>> -> tensor<2x5xi1, #sparse.index<stride, bits = 2>>
  %5 = sparse.combine %4, %c : tensor<2x5xi1, #sparse.index<direct, threshold = 0.5>>, tensor<2x5xi1, #sparse.index<direct>> -> tensor<2x5xi1, #sparse.index<stride, bits = 2>>
  // CHECK-NEXT: %6 = sparse.compact %x by %5 : tensor<2x5xf32>, tensor<2x5xi1, #sparse.index<stride, bits = 2>> -> tensor<2x5xf32, #sparse.index<stride, bits = 2>>
  %6 = sparse.compact %x by %5 : tensor<2x5xf32>, tensor<2x5xi1, #sparse.index<stride, bits = 2>> -> tensor<2x5xf32, #sparse.index<stride, bits = 2>>
  // CHECK-NEXT: %7 = sparse.matmul %6, %3 : (tensor<2x5xf32, #sparse.index<stride, bits = 2>>, tensor<5x3xf32, #sparse.index<direct, order = input, axis = 1>>) -> tensor<2x3xf32>
  %7 = sparse.matmul %6, %3 : (tensor<2x5xf32, #sparse.index<stride, bits = 2>>, tensor<5x3xf32, #sparse.index<direct, order = input, axis = 1>>) -> tensor<2x3xf32>
  // CHECK-NEXT: %8 = sparse.matmul %0, %x transpose_a : (tensor<2x5xf32, #sparse.index<direct, threshold = 0.5>>, tensor<2x5xf32>) -> tensor<5x5xf32>
  %8 = sparse.matmul %0, %x transpose_a : (tensor<2x5xf32, #sparse.index<direct, threshold = 0.5>>, tensor<2x5xf32>) -> tensor<5x5xf32>
  // CHECK-NEXT: %9 = sparse.prune_groups %x groups 3 threshold 1.000000e-01 limit 2 : tensor<2x5xf32>
  %9 = sparse.prune_groups %x groups 3 threshold 0.1 limit 2 : tensor<2x5xf32>
  func.return
}

// CHECK: func.func @conv(%x: tensor<1x2x6xi8>, %w: tensor<4x2x3xi8, #sparse.index<stride, bits = 3>>) {
func.func @conv(%x: tensor<1x2x6xi8>, %w: tensor<4x2x3xi8, #sparse.index<stride, bits = 3>>) {
  // CHECK-NEXT: %0 = sparse.conv %x, %w strides [1] dilations [1] pad [0] to [0] groups 1 : (tensor<1x2x6xi8>, tensor<4x2x3xi8, #sparse.index<stride, bits = 3>>) -> tensor<1x4x4xi32>
  %0 = sparse.conv %x, %w strides [1] dilations [1] pad [0] to [0] groups 1 : (tensor<1x2x6xi8>, tensor<4x2x3xi8, #sparse.index<stride, bits = 3>>) -> tensor<1x4x4xi32>
  func.return
}

// CHECK: func.func @panels(%x: tensor<2x12xf32>, %w: tensor<2x2x40xui8>, %i: tensor<1x3x8xi8>, %v: tensor<1x1x56xui8>) {
func.func @panels(%x: tensor<2x12xf32>, %w: tensor<2x2x40xui8>, %i: tensor<1x3x8xi8>, %v: tensor<1x1x56xui8>) {
  // CHECK-NEXT: %0 = sparse.panel_matmul %x, %w by <direct, outputs = 7 by 4, inputs = 12 by 8, values_at = 8, entries = 9, fullest = 5, loads = 4> : (tensor<2x12xf32>, tensor<2x2x40xui8>) -> tensor<2x7xf32>
  %0 = sparse.panel_matmul %x, %w by <direct, outputs = 7 by 4, inputs = 12 by 8, values_at = 8, entries = 9, fullest = 5, loads = 4>
    : (tensor<2x12xf32>, tensor<2x2x40xui8>) -> tensor<2x7xf32>
  // CHECK-NEXT: %1 = sparse.panel_conv %i, %v nonzero [5.000000e-01, 1.000000e+00, 8.000000e+00, 5.000000e-01, 7.500000e-01, 0.000000e+00, 1.000000e+00] kernel [3] strides [1] dilations [1] pad [1] to [1] groups 1 by <stride, bits = 3, group = 3, outputs = 4 by 4, inputs = 9 by 9, values_at = 12, entries = 4, fullest = 6, loads = 1> : (tensor<1x3x8xi8>, tensor<1x1x56xui8>) -> tensor<1x4x8xi32>
  %1 = sparse.panel_conv %i, %v nonzero [0.5, 1.0, 8.0, 0.5, 0.75, 0.0, 1.0] kernel [3] strides [1] dilations [1] pad [1] to [1] groups 1
    by <stride, bits = 3, group = 3, outputs = 4 by 4, inputs = 9 by 9, values_at = 12, entries = 4, fullest = 6, loads = 1>
    : (tensor<1x3x8xi8>, tensor<1x1x56xui8>) -> tensor<1x4x8xi32>
  // CHECK-NEXT: %2 = sparse.panel_matmul %x, %w by <direct, outputs = 7 by 4, inputs = 12 by 8, values_at = 8, sizes = [40, 12], entries = 9, fullest = 5, loads = [3, 1]> : (tensor<2x12xf32>, tensor<2x2x40xui8>) -> tensor<2x7xf32>
  %2 = sparse.panel_matmul %x, %w by <direct, outputs = 7 by 4, inputs = 12 by 8, values_at = 8, sizes = [40, 12], entries = 9, fullest = 5, loads = [3, 1]>
    : (tensor<2x12xf32>, tensor<2x2x40xui8>) -> tensor<2x7xf32>
  func.return
}

// CHECK: func.func @filled
func.func @filled(%index: tensor<2x1x36xui8>, %values: tensor<2x1x26xf32>, %list: tensor<50xf32>, %order: tensor<2x1x26xi32>) {
  // CHECK-NEXT: %0 = sparse.fill_panels %index, %values : (tensor<2x1x36xui8>, tensor<2x1x26xf32>) -> tensor<2x1x140xui8>
  %0 = sparse.fill_panels %index, %values : (tensor<2x1x36xui8>, tensor<2x1x26xf32>) -> tensor<2x1x140xui8>
  // CHECK-NEXT: %1 = sparse.fill_panels %index, %list order %order : (tensor<2x1x36xui8>, tensor<50xf32>, tensor<2x1x26xi32>) -> tensor<2x1x140xui8>
  %1 = sparse.fill_panels %index, %list order %order : (tensor<2x1x36xui8>, tensor<50xf32>, tensor<2x1x26xi32>) -> tensor<2x1x140xui8>
  func.return
}
