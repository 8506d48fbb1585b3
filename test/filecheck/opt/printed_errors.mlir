// RUN: meshloom-opt %s --split-input-file --verify-diagnostics | filecheck %s

// Without annotations, errors are printed, and the tool goes on.
// CHECK: expected tensor<2xf32>
func.func @printed(%x: tensor<2xf32>) {
  %y = dataflow.relu %x : (tensor<2xf32>) -> tensor<3xf32>
  func.return
}

// -----

// CHECK: func.func @valid
func.func @valid() {
  func.return
}
