// RUN: meshloom-opt %s --verify-diagnostics --split-input-file

func.func @f(%x: tensor<4x64x1xf32>) {
  // expected-error@+1 {{operand 0 has type tensor<4x64x1xf32>: expected a matrix, of which each row is a fiber}}
  %0 = sparse.panel_encode %x threshold 0.5 by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> : (tensor<4x64x1xf32>) -> tensor<1x1x1060xui8>
  func.return
}

// -----

func.func @f(%x: tensor<5x64xf32>) {
  // expected-error@+1 {{the layout has 4 fibers of 64 by 64: expected 5 whole ones of 64}}
  %0 = sparse.panel_encode %x threshold 0.5 by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> : (tensor<5x64xf32>) -> tensor<1x1x1060xui8>
  func.return
}

// -----

func.func @f(%x: tensor<4x64xf32>) {
  // expected-error@+1 {{result has type tensor<2x1x1060xui8>: the layout has 1 panels of one part}}
  %0 = sparse.panel_encode %x threshold 0.5 by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> : (tensor<4x64xf32>) -> tensor<2x1x1060xui8>
  func.return
}

// -----

func.func @f(%x: tensor<4x64xf32>) {
  // expected-error@+1 {{threshold = -0.5 should not be negative}}
  %0 = sparse.panel_encode %x threshold -0.5 by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> : (tensor<4x64xf32>) -> tensor<1x1x1060xui8>
  func.return
}

// -----

func.func @f(%x: tensor<1x1060xui8>) {
  // expected-error@+1 {{operand 0 has type tensor<1x1060xui8>: expected bytes, tensor<PANELSx1xBYTESxui8>}}
  %0 = sparse.panel_decode %x by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> : (tensor<1x1060xui8>) -> tensor<4x64xf32>
  func.return
}

// -----

func.func @f(%x: tensor<1x1x36xui8>) {
  // expected-error@+1 {{operand 0: a block of 4 fibers, 64 long, with room for 0}}
  %0 = sparse.panel_decode %x by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> : (tensor<1x1x36xui8>) -> tensor<4x64xf32>
  func.return
}

// -----

func.func @f(%a: tensor<1x1x292xui8>, %b: tensor<2x1x148xui8>) {
  // expected-error@+1 {{layout 1 is cut in another way than that of the result}}
  %0 = sparse.panel_combine %a, %b by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> and <direct, outputs = 4 by 2, inputs = 64 by 64, values_at = 20, entries = 256, fullest = 256, loads = 1> to <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> : (tensor<1x1x292xui8>, tensor<2x1x148xui8>) -> tensor<1x1x292xui8>
  func.return
}

// -----

func.func @f(%a: tensor<1x1x1060xui8>, %w: tensor<64x8xf16>) {
  // expected-error@+1 {{operand 1 has type tensor<64x8xf16>: expected elements f32}}
  %0 = sparse.encoded_matmul %a, %w of f32 by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> : (tensor<1x1x1060xui8>, tensor<64x8xf16>) -> tensor<4x8xf32>
  func.return
}

// -----

func.func @f(%a: tensor<1x1x1060xui8>) {
  // expected-error@+1 {{weights in panels have a fiber for each column: leave out transpose_b}}
  %0 = sparse.encoded_matmul %a, %a transpose_b of f32 by <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> weights <direct, outputs = 4 by 4, inputs = 64 by 64, values_at = 36, entries = 256, fullest = 256, loads = 1> : (tensor<1x1x1060xui8>, tensor<1x1x1060xui8>) -> tensor<4x4xf32>
  func.return
}
