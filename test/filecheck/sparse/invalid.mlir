// RUN: meshloom-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{index 'csr': expected direct or stride}}
"test.op"() {index = #sparse.index<csr>} : () -> ()

// -----

// expected-error@+1 {{stride index of 9 bits: expected 2 to 8}}
"test.op"() {index = #sparse.index<stride, bits = 9>} : () -> ()

// -----

// expected-error@+1 {{direct index of 4 bits: expected 1}}
"test.op"() {index = #sparse.index<direct, bits = 4>} : () -> ()

// -----

// expected-error@+1 {{order = both: expected output or input}}
"test.op"() {index = #sparse.index<direct, order = both>} : () -> ()

// -----

// expected-error@+1 {{order = input: a stride index has a fiber for each output neuron}}
"test.op"() {index = #sparse.index<stride, bits = 4, order = input>} : () -> ()

// -----

// expected-error@+1 {{threshold = -1.0: expected a finite number of at least 0}}
"test.op"() {index = #sparse.index<direct, threshold = -1.0>} : () -> ()

// -----

// expected-error@+1 {{groups of 0 elements: expected at least 1}}
"test.op"() {index = #sparse.index<direct, group = 0>} : () -> ()

// -----

// expected-error@+1 {{'axis' is given twice}}
"test.op"() {index = #sparse.index<direct, axis = 0, axis = 1>} : () -> ()

// -----

%0 = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{axis 2 is no dimension of it}}
%1 = sparse.encode %0 : tensor<4x4xf32> -> tensor<4x4xf32, #sparse.index<direct, axis = 2>>

// -----

%0 = "test.op"() : () -> tensor<4x8xf32>
// expected-error@+1 {{a group is longer than a fiber of it}}
%1 = sparse.encode %0 : tensor<4x8xf32> -> tensor<4x8xf32, #sparse.index<direct, order = input, group = 5>>

// -----

%0 = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{result has type tensor<4x4xf32>: expected tensor<4x4xf16>}}
%1 = sparse.encode %0 : tensor<4x4xf32> -> tensor<4x4xf16, #sparse.index<direct>>

// -----

%0 = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{operand has type tensor<4x4xf32>: expected an encoded tensor}}
%1 = sparse.decode %0 : tensor<4x4xf32> -> tensor<4x4xf32>

// -----

%0, %1 = "test.op"() : () -> (tensor<4xf32, #sparse.index<direct>>, tensor<4xi1, #sparse.index<direct>>)
// expected-error@+1 {{expected connection data, whose element type is i1}}
%2 = sparse.combine %0, %1 : tensor<4xf32, #sparse.index<direct>>, tensor<4xi1, #sparse.index<direct>> -> tensor<4xi1, #sparse.index<direct>>

// -----

%0, %1 = "test.op"() : () -> (tensor<4xi1, #sparse.index<direct>>, tensor<5xi1, #sparse.index<direct>>)
// expected-error@+1 {{operands and result have shapes [4], [5], [4]: expected equal ones}}
%2 = sparse.combine %0, %1 : tensor<4xi1, #sparse.index<direct>>, tensor<5xi1, #sparse.index<direct>> -> tensor<4xi1, #sparse.index<direct>>

// -----

%0, %1 = "test.op"() : () -> (tensor<5xf32>, tensor<4xi1, #sparse.index<direct>>)
// expected-error@+1 {{operands have shapes [5] and [4]: expected equal ones}}
%2 = sparse.compact %0 by %1 : tensor<5xf32>, tensor<4xi1, #sparse.index<direct>> -> tensor<5xf32, #sparse.index<direct>>

// -----

%0, %1 = "test.op"() : () -> (tensor<2x3xf32>, tensor<3x4xf32>)
// expected-error@+1 {{no operand is encoded}}
%2 = sparse.matmul %0, %1 : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>

// -----

%0, %1 = "test.op"() : () -> (tensor<2x3xf32>, tensor<4x4xf32, #sparse.index<direct>>)
// expected-error@+1 {{K is 3 in one and 4 in the other}}
%2 = sparse.matmul %0, %1 : (tensor<2x3xf32>, tensor<4x4xf32, #sparse.index<direct>>) -> tensor<2x4xf32>

// -----

%0, %1 = "test.op"() : () -> (tensor<2x3xf32>, tensor<3x4xf32, #sparse.index<direct>>)
// expected-error@+1 {{result has type tensor<2x5xf32>: expected tensor<2x4xf32>}}
%2 = sparse.matmul %0, %1 : (tensor<2x3xf32>, tensor<3x4xf32, #sparse.index<direct>>) -> tensor<2x5xf32>

// -----

%0 = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{groups = 0 should be at least 1}}
%1 = sparse.prune_groups %0 groups 0 threshold 0.1 limit 2 : tensor<4xf32>

// -----

%0 = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{limit = -1 should not be negative}}
%1 = sparse.prune_groups %0 groups 2 threshold 0.1 limit -1 : tensor<4xf32>

// -----

%0 = "test.op"() : () -> tensor<4xf32, #sparse.index<direct>>
// expected-error@+1 {{expected a tensor without encoding, see sparse.decode}}
%1 = dataflow.relu %0 : (tensor<4xf32, #sparse.index<direct>>) -> tensor<4xf32>

// -----

%0, %1 = "test.op"() : () -> (tensor<2x12xf32>, tensor<2x1x40xui8>)
// expected-error@+1 {{operand 1 has type tensor<2x1x40xui8>: expected tensor<2x2x...xui8>}}
%2 = sparse.panel_matmul %0, %1 by <direct, outputs = 7 by 4, inputs = 12 by 8, values_at = 8, entries = 9, fullest = 5, loads = 4>
  : (tensor<2x12xf32>, tensor<2x1x40xui8>) -> tensor<2x7xf32>

// -----

%0, %1 = "test.op"() : () -> (tensor<2x12xf32>, tensor<2x2x40xui8>)
// expected-error@+1 {{panels of 0 of 7 outputs and 8 of 12 inputs: expected at least 1 of each}}
%2 = sparse.panel_matmul %0, %1 by <direct, outputs = 7 by 0, inputs = 12 by 8, values_at = 8, entries = 9, fullest = 5, loads = 4>
  : (tensor<2x12xf32>, tensor<2x2x40xui8>) -> tensor<2x7xf32>

// -----

%0, %1 = "test.op"() : () -> (tensor<2x12xf32>, tensor<2x2x40xui8>)
// expected-error@+1 {{sizes of panels are [40]: expected 2, larger than 8}}
%2 = sparse.panel_matmul %0, %1 by <direct, outputs = 7 by 4, inputs = 12 by 8, values_at = 8, sizes = [40], entries = 9, fullest = 5, loads = [4]>
  : (tensor<2x12xf32>, tensor<2x2x40xui8>) -> tensor<2x7xf32>

// -----

%0, %1 = "test.op"() : () -> (tensor<2x12xf32>, tensor<2x2x40xui8>)
// expected-error@+1 {{sizes of panels are [40, 8]: expected 2, larger than 8}}
%2 = sparse.panel_matmul %0, %1 by <direct, outputs = 7 by 4, inputs = 12 by 8, values_at = 8, sizes = [40, 8], entries = 9, fullest = 5, loads = [3, 1]>
  : (tensor<2x12xf32>, tensor<2x2x40xui8>) -> tensor<2x7xf32>

// -----

%0, %1 = "test.op"() : () -> (tensor<2x12xf32>, tensor<2x2x40xui8>)
// expected-error@+1 {{sizes of panels are up to 44: operand 1 has room for 40}}
%2 = sparse.panel_matmul %0, %1 by <direct, outputs = 7 by 4, inputs = 12 by 8, values_at = 8, sizes = [44, 12], entries = 9, fullest = 5, loads = [3, 1]>
  : (tensor<2x12xf32>, tensor<2x2x40xui8>) -> tensor<2x7xf32>

// -----

%0, %1 = "test.op"() : () -> (tensor<2x12xf32>, tensor<2x2x40xui8>)
// expected-error@+1 {{loads of panels are [4]: expected 2}}
%2 = sparse.panel_matmul %0, %1 by <direct, outputs = 7 by 4, inputs = 12 by 8, values_at = 8, sizes = [40, 12], entries = 9, fullest = 5, loads = [4]>
  : (tensor<2x12xf32>, tensor<2x2x40xui8>) -> tensor<2x7xf32>

// -----

%0, %1 = "test.op"() : () -> (tensor<1x3x8xi8>, tensor<1x3x56xui8>)
// expected-error@+1 {{inputs = 9 by 4 should be whole kernels, of 3 places}}
%2 = sparse.panel_conv %0, %1 kernel [3] strides [1] dilations [1] pad [1] to [1] groups 1
  by <direct, outputs = 4 by 4, inputs = 9 by 4, values_at = 12, entries = 4, fullest = 6, loads = 1>
  : (tensor<1x3x8xi8>, tensor<1x3x56xui8>) -> tensor<1x4x8xi32>

// -----

%0, %1 = "test.op"() : () -> (tensor<1x6x8xi8>, tensor<3x1x56xui8>)
// expected-error@+1 {{outputs = 6 by 2 in 2 groups: expected whole panels in each group}}
%2 = sparse.panel_conv %0, %1 kernel [3] strides [1] dilations [1] pad [1] to [1] groups 2
  by <direct, outputs = 6 by 2, inputs = 9 by 9, values_at = 12, entries = 4, fullest = 6, loads = 1>
  : (tensor<1x6x8xi8>, tensor<3x1x56xui8>) -> tensor<1x6x8xi32>

// -----

%0 = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{nonzero = [0.5, 0.25]: expected a density, then lines, places and 4 shares for each size of tiles; shares are 0 to 1}}
%1 = sparse.encode %0 nonzero [0.5, 0.25] : tensor<4x4xf32> -> tensor<4x4xf32, #sparse.index<direct>>

// -----

%0 = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{nonzero = [0.5, 1.0, 1.0, 0.5, 0.5, 0.0, 1.0, 1.0, 2.0, 0.5, 0.25, 0.0, 1.0]: shares must not decrease with more rows (0.25)}}
%1 = sparse.encode %0 nonzero [0.5, 1.0, 1.0, 0.5, 0.5, 0.0, 1.0, 1.0, 2.0, 0.5, 0.25, 0.0, 1.0]
  : tensor<4x4xf32> -> tensor<4x4xf32, #sparse.index<direct>>

// -----

%0 = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{nonzero = [0.5, 1.0, 2.0, 0.5, 0.5, 0.0, 1.0, 2.0, 1.0, 0.5, 0.5, 0.0, 1.0]: expected each number of lines with each of places, ascending from 1}}
%1 = sparse.encode %0 nonzero [0.5, 1.0, 2.0, 0.5, 0.5, 0.0, 1.0, 2.0, 1.0, 0.5, 0.5, 0.0, 1.0]
  : tensor<4x4xf32> -> tensor<4x4xf32, #sparse.index<direct>>

// -----

%0 = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{width = 0: expected at least 1 output neuron}}
%1 = sparse.encode %0 width 0 : tensor<4x4xf32> -> tensor<4x4xf32, #sparse.index<direct>>

// -----

%0 = "test.op"() : () -> tensor<4x4xf32>
// expected-error@+1 {{nonzero = [1.5]: expected a density, then lines, places and 4 shares for each size of tiles; shares are 0 to 1}}
%1 = dataflow.matmul %0, %0 nonzero [1.5] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>

// -----

%0, %1 = "test.op"() : () -> (tensor<2x1x36xi8>, tensor<2x1x26xf32>)
// expected-error@+1 {{index has type tensor<2x1x36xi8>: expected the bytes of panels, tensor<...x...x...xui8>}}
%2 = sparse.fill_panels %0, %1 : (tensor<2x1x36xi8>, tensor<2x1x26xf32>) -> tensor<2x1x140xui8>

// -----

%0, %1 = "test.op"() : () -> (tensor<2x1x36xui8>, tensor<3x1x26xf32>)
// expected-error@+1 {{values: shape [3, 1, 26], expected [2, 1, 'n']: the panels and parts of the index}}
%2 = sparse.fill_panels %0, %1 : (tensor<2x1x36xui8>, tensor<3x1x26xf32>) -> tensor<2x1x140xui8>

// -----

%0, %1, %2 = "test.op"() : () -> (tensor<2x1x36xui8>, tensor<50xf32>, tensor<2x1x26xi64>)
// expected-error@+1 {{order has type tensor<2x1x26xi64> and values tensor<50xf32>: expected i32 and a list of at least one}}
%3 = sparse.fill_panels %0, %1 order %2 : (tensor<2x1x36xui8>, tensor<50xf32>, tensor<2x1x26xi64>) -> tensor<2x1x140xui8>

// -----

%0, %1 = "test.op"() : () -> (tensor<2x1x36xui8>, tensor<2x1x25xi8>)
// expected-error@+1 {{a panel has 36 bytes of index and 25 of values: expected multiples of 4}}
%2 = sparse.fill_panels %0, %1 : (tensor<2x1x36xui8>, tensor<2x1x25xi8>) -> tensor<2x1x61xui8>
