// RUN: meshloom-opt %s | meshloom-opt | filecheck %s
// RUN: meshloom-opt %s --print-op-generic | meshloom-opt | filecheck %s

// CHECK: func.func @main
func.func @main(%x: tensor<4x64xf32>, %t: tensor<64x4xf32>, %w: tensor<16x64xf32>) -> tensor<4x4xf32> {
  // CHECK-NEXT: %0 = sparse.panel_encode %x threshold 5.000000e-01 by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> : (tensor<4x64xf32>) -> tensor<1x1x1060xui8>
  %0 = sparse.panel_encode %x threshold 0.5 by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> : (tensor<4x64xf32>) -> tensor<1x1x1060xui8>
  // CHECK-NEXT: %1 = sparse.panel_encode %t transposed threshold 0.000000e+00 by <stride, bits = 2, outputs = 4 by 2, inputs = 64 by 64, values_at = 40, entries = 128, fullest = 128, loads = 1> : (tensor<64x4xf32>) -> tensor<2x1x552xui8>
  %1 = sparse.panel_encode %t transposed threshold 0.0 by <stride, bits = 2, outputs = 4 by 2, inputs = 64 by 64, values_at = 40, entries = 128, fullest = 128, loads = 1> : (tensor<64x4xf32>) -> tensor<2x1x552xui8>
  // CHECK-NEXT: %2 = sparse.panel_decode %1 transposed by <stride, {{.*}}> : (tensor<2x1x552xui8>) -> tensor<64x4xf32>
  %2 = sparse.panel_decode %1 transposed by <stride, bits = 2, outputs = 4 by 2, inputs = 64 by 64, values_at = 40, entries = 128, fullest = 128, loads = 1> : (tensor<2x1x552xui8>) -> tensor<64x4xf32>
  // CHECK-NEXT: %3 = sparse.panel_connections %0 of f32 by <direct, {{.*}}> to <direct, {{.*}}> : (tensor<1x1x1060xui8>) -> tensor<1x1x292xui8>
  %3 = sparse.panel_connections %0 of f32 by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> to <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> : (tensor<1x1x1060xui8>) -> tensor<1x1x292xui8>
  // CHECK-NEXT: %4 = sparse.panel_combine %3, %3 by <direct, {{.*}}> and <direct, {{.*}}> to <direct, {{.*}}> : (tensor<1x1x292xui8>, tensor<1x1x292xui8>) -> tensor<1x1x292xui8>
  %4 = sparse.panel_combine %3, %3 by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> and <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> to <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> : (tensor<1x1x292xui8>, tensor<1x1x292xui8>) -> tensor<1x1x292xui8>
  // CHECK-NEXT: %5 = sparse.panel_compact %t, %4 transposed by <direct, {{.*}}> to <direct, {{.*}}> : (tensor<64x4xf32>, tensor<1x1x292xui8>) -> tensor<1x1x1060xui8>
  %5 = sparse.panel_compact %t, %4 transposed by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> to <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> : (tensor<64x4xf32>, tensor<1x1x292xui8>) -> tensor<1x1x1060xui8>
  // CHECK-NEXT: %6 = sparse.encoded_matmul %5, %w transpose_b of f32 by <direct, {{.*}}> : (tensor<1x1x1060xui8>, tensor<16x64xf32>) -> tensor<4x16xf32>
  %6 = sparse.encoded_matmul %5, %w transpose_b of f32 by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> : (tensor<1x1x1060xui8>, tensor<16x64xf32>) -> tensor<4x16xf32>
  // CHECK-NEXT: %7 = sparse.encoded_matmul %5, %0 of f32 by <direct, {{.*}}> weights <direct, {{.*}}> : (tensor<1x1x1060xui8>, tensor<1x1x1060xui8>) -> tensor<4x4xf32>
  %7 = sparse.encoded_matmul %5, %0 of f32 by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> weights <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> : (tensor<1x1x1060xui8>, tensor<1x1x1060xui8>) -> tensor<4x4xf32>
  func.return %7 : tensor<4x4xf32>
}
