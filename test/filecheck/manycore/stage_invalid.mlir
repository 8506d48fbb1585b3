// RUN: meshloom-opt %s --split-input-file --verify-diagnostics

builtin.module {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    // expected-error@+1 {{there is no module @other beside the function: expected 'builtin.module @other'}}
    %0 = manycore.stage @other(%x) : (tensor<4xf32>) -> tensor<4xf32>
    func.return %0 : tensor<4xf32>
  }
  builtin.module @first {
  }
}
