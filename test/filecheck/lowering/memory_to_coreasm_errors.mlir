// RUN: meshloom-opt %s -p memory-to-coreasm --split-input-file --verify-diagnostics

// A module of another level, whose tensors have no buffers yet.
builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  // expected-error@+1 {{@main has input 'x' of type tensor<4xf32>: expected a buffer, run manycore-to-memory first}}
  func.func @main(%x: tensor<4xf32> {dataflow.name = "x"}) -> tensor<4xf32> {
    %y = dataflow.neg %x : (tensor<4xf32>) -> tensor<4xf32>
    func.return %y : tensor<4xf32>
  }
}

// -----

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main() -> (tensor<4xi64> {dataflow.name = "y"}) {
    %y = dataflow.iota axis 0 : tensor<4xi64> // expected-error {{@main has output 'y' of type tensor<4xi64>: expected a buffer}}
    func.return %y : tensor<4xi64>
  }
}
