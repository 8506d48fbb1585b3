// RUN: meshloom-opt %s --split-input-file --verify-diagnostics

func.func @main(%x: tensor<4xf32>) {
  // expected-error@+1 {{format f12: expected one of f16, bf16, f24, f8e4m3, f8e5m2}}
  %0 = memory.pack %x as "f12" : (tensor<4xf32>) -> tensor<4x2xui8>
  func.return
}

// -----

func.func @main(%x: tensor<4xf16>) {
  // expected-error@+1 {{operand has element type f16: expected f32}}
  %0 = memory.pack %x as "f8e5m2" : (tensor<4xf16>) -> tensor<4x1xui8>
  func.return
}

// -----

func.func @main(%x: tensor<4xf32>) {
  // expected-error@+1 {{result has type tensor<4x2xui8>: expected tensor<4x3xui8>}}
  %0 = memory.pack %x as "f24" : (tensor<4xf32>) -> tensor<4x2xui8>
  func.return
}

// -----

func.func @main(%x: tensor<4x2xui8>) {
  // expected-error@+1 {{operand has type tensor<4x2xui8>: expected 3 bytes in the last dimension}}
  %0 = memory.unpack %x as "f24" : (tensor<4x2xui8>) -> tensor<4xf32>
  func.return
}
