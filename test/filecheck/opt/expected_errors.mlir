// RUN: meshloom-opt %s --split-input-file --verify-diagnostics | filecheck %s

// Errors of the parser, of verifiers and of passes are compared with the annotations of their part of the file.
// CHECK-NOT: error

func.func @other_shape(%x: tensor<2xf32>) {
  // expected-error@+1 {{expected tensor<2xf32>}}
  %y = dataflow.relu %x : (tensor<2xf32>) -> tensor<3xf32>
  func.return
}

// -----

func.func @same_line(%x: tensor<2xf32>) {
  %y = dataflow.relu %x : (tensor<2xf32>) -> tensor<3xf32>  // expected-error {{expected tensor<2xf32>}}
  func.return
}

// -----

func.func @above(%x: tensor<2xf32>) {
  %y = dataflow.relu %x : (tensor<2xf32>) -> tensor<3xf32>
  // expected-error@above {{expected tensor<2xf32>}}
  func.return
}

// -----

func.func @no_text() {
  // expected-error@+1 {{is not registered}}
  dataflow.nothing
  func.return
}

// -----

// CHECK: func.func @valid
func.func @valid() {
  func.return
}
