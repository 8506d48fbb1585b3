// RUN: not meshloom-opt %s --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// One annotation anywhere in the file, and every error has to be expected.
// CHECK: expected_errors_other_part.mlir:14: unexpected error: result has type tensor<3xf32>: expected tensor<2xf32>
func.func @expected(%x: tensor<2xf32>) {
  // expected-error@+1 {{expected tensor<2xf32>}}
  %y = dataflow.relu %x : (tensor<2xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @not_expected(%x: tensor<2xf32>) {
  %y = dataflow.relu %x : (tensor<2xf32>) -> tensor<3xf32>
  func.return
}
