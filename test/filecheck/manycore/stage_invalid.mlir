// RUN: meshloom-opt %s --split-input-file --verify-diagnostics --parsing-diagnostics | filecheck %s

// CHECK: there is no module @other beside the function: expected 'builtin.module @other'
builtin.module {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = manycore.stage @other(%x) : (tensor<4xf32>) -> tensor<4xf32>
    func.return %0 : tensor<4xf32>
  }
  builtin.module @first {
  }
}
