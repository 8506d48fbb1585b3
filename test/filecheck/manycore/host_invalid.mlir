// RUN: meshloom-opt %s --split-input-file --verify-diagnostics

func.func @main(%x: tensor<2x8xf32>) -> tensor<1x8xf32> {
  %0 = dataflow.neg %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
  // expected-error@+1 {{the operand is computed: expected an argument of @main}}
  %1 = manycore.host_slice %0 starts [0, 0] sizes [1, 8] : (tensor<2x8xf32>) -> tensor<1x8xf32>
  func.return %1 : tensor<1x8xf32>
}

// -----

func.func @main(%x: tensor<2x8xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{sizes = [2, 4] are not a contiguous block of [2, 8]: expected all of the dimensions after 0}}
  %0 = manycore.host_slice %x starts [0, 0] sizes [2, 4] : (tensor<2x8xf32>) -> tensor<2x4xf32>
  func.return %0 : tensor<2x4xf32>
}

// -----

func.func @main(%x: tensor<2x8xf32>) -> tensor<1x8xf32> {
  // expected-error@+1 {{slice reads elements 2 to 2 of dimension 0: expected to stay in [0, 2)}}
  %0 = manycore.host_slice %x starts [2, 0] sizes [1, 8] : (tensor<2x8xf32>) -> tensor<1x8xf32>
  func.return %0 : tensor<1x8xf32>
}

// -----

func.func @main(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  // expected-error@+1 {{result has type tensor<2x8xf32>: expected tensor<1x8xf32>}}
  %0 = manycore.host_slice %x starts [0, 0] sizes [1, 8] : (tensor<2x8xf32>) -> tensor<2x8xf32>
  func.return %0 : tensor<2x8xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<16xf32> {
  // expected-error@+1 {{dataflow.neg reads the result: expected an output of @main}}
  %0 = manycore.host_concat %x, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %1 = dataflow.neg %0 : (tensor<16xf32>) -> tensor<16xf32>
  func.return %1 : tensor<16xf32>
}

// -----

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{result has type tensor<8xf32>: expected tensor<16xf32>}}
  %0 = manycore.host_concat %x, %x : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

// -----

func.func @main(%x: tensor<2x8xf32>) -> tensor<1x8xf32> {
  %0 = manycore.subgraph @all(%v = %x : tensor<2x8xf32>) -> tensor<1x8xf32> {
    // expected-error@+1 {{'manycore.host_slice' expects parent op 'func.func'}}
    %1 = manycore.host_slice %v starts [0, 0] sizes [1, 8] : (tensor<2x8xf32>) -> tensor<1x8xf32>
    manycore.yield %1 : tensor<1x8xf32>
  }
  func.return %0 : tensor<1x8xf32>
}
