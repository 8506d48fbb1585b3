// RUN: not meshloom-opt %s --verify-diagnostics 2>&1 | filecheck %s

// The line and the words both count.
// CHECK: expected_errors_missed.mlir:7: expected error "not these words" was not produced; {{.*}}:7: unexpected error: result has type tensor<3xf32>: expected tensor<2xf32>
func.func @main(%x: tensor<2xf32>) {
  // expected-error@+1 {{not these words}}
  %y = dataflow.relu %x : (tensor<2xf32>) -> tensor<3xf32>
  func.return
}
