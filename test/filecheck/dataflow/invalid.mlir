// RUN: meshloom-opt %s --verify-diagnostics --split-input-file

%a, %b = "test.op"() : () -> (tensor<4x6xf32>, tensor<5xf32>)
// expected-error@+1 {{shapes [4, 6] and [5] do not broadcast: sizes 6 and 5 meet in dimension 1}}
%c = dataflow.add %a, %b : (tensor<4x6xf32>, tensor<5xf32>) -> tensor<4x6xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4xf32>, tensor<4xi32>)
// expected-error@+1 {{operands have element types f32 and i32: expected equal ones}}
%c = dataflow.add %a, %b : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>

// -----

%a = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{bits of f32 are no i16: expected types of the same size, not i1}}
%b = dataflow.bitcast %a : (tensor<4xf32>) -> tensor<4xi16>

// -----

%a = "test.op"() : () -> tensor<4xi32>
// expected-error@+1 {{operand has element type i32: expected float}}
%c = dataflow.exp %a : (tensor<4xi32>) -> tensor<4xi32>

// -----

%a = "test.op"() : () -> tensor<?xf32>
// expected-error@+1 {{operand 0 has type tensor<?xf32>: expected a static shape}}
%c = dataflow.neg %a : (tensor<?xf32>) -> tensor<?xf32>

// -----

%a = "test.op"() : () -> tensor<4xi7>
// expected-error@+1 {{operand 0 has element type i7: expected one of f32, f16, bf16}}
%c = dataflow.neg %a : (tensor<4xi7>) -> tensor<4xi7>

// -----

%a, %b = "test.op"() : () -> (tensor<4x6xf32>, tensor<4x6xf32>)
// expected-error@+1 {{operands have shapes [4, 6] and [4, 6]: K is 6 in one and 4 in the other}}
%c = dataflow.matmul %a, %b : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x0xf32>, tensor<0x6xf32>)
// expected-error@+1 {{operands have shapes [4, 0] and [0, 6]: K is 0, expected at least 1}}
%c = dataflow.matmul %a, %b : (tensor<4x0xf32>, tensor<0x6xf32>) -> tensor<4x6xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x6xf32>, tensor<6x5xf32>)
// expected-error@+1 {{parts = 4 should be a positive divisor of the 6 elements along K}}
%c = dataflow.partial_matmul %a, %b parts 4 : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<4x4x5xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<2x4x6xf32>, tensor<6x5xf32>)
// expected-error@+1 {{operands have ranks 3 and 2: expected 2}}
%c = dataflow.partial_matmul %a, %b parts 2 : (tensor<2x4x6xf32>, tensor<6x5xf32>) -> tensor<2x2x4x5xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<1x0x8xf32>, tensor<6x0x3xf32>)
// expected-error@+1 {{weights have 0 channels: expected at least 1}}
%c = dataflow.conv %a, %b strides [1] dilations [1] pad [0] to [0] groups 1 : (tensor<1x0x8xf32>, tensor<6x0x3xf32>) -> tensor<1x6x6xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<1x4x8xf32>, tensor<6x4x3xf32>)
// expected-error@+1 {{strides = [1, 1] should have 1 entries, one for each spatial dimension}}
%c = dataflow.conv %a, %b strides [1, 1] dilations [1] pad [0] to [0] groups 1 : (tensor<1x4x8xf32>, tensor<6x4x3xf32>) -> tensor<1x6x6xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<1x4x8xf32>, tensor<6x4x3xf32>)
// expected-error@+1 {{pad_low = [-1] should be at least 0 everywhere}}
%c = dataflow.conv %a, %b strides [1] dilations [1] pad [-1] to [0] groups 1 : (tensor<1x4x8xf32>, tensor<6x4x3xf32>) -> tensor<1x6x5xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<1x4x8xf32>, tensor<6x4x3xf32>)
// expected-error@+1 {{groups = 4 should be a positive divisor of the 6 output channels}}
%c = dataflow.conv %a, %b strides [1] dilations [1] pad [0] to [0] groups 4 : (tensor<1x4x8xf32>, tensor<6x4x3xf32>) -> tensor<1x6x6xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<1x4x8xf32>, tensor<6x4x3xf32>)
// expected-error@+1 {{weights have 4 channels in each of 2 groups: expected 8 input channels, operand has 4}}
%c = dataflow.conv %a, %b strides [1] dilations [1] pad [0] to [0] groups 2 : (tensor<1x4x8xf32>, tensor<6x4x3xf32>) -> tensor<1x6x6xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<1x4x8xf32>, tensor<6x4x3xf32>)
// expected-error@+1 {{kernel [3] with dilations [4] is larger than the padded operand}}
%c = dataflow.conv %a, %b strides [1] dilations [4] pad [0] to [0] groups 1 : (tensor<1x4x8xf32>, tensor<6x4x3xf32>) -> tensor<1x6x6xf32>

// -----

%a = "test.op"() : () -> tensor<4x6xf32>
// expected-error@+1 {{axes = [1, 1] should be increasing and in [0, 2)}}
%c = dataflow.reduce sum %a axes [1, 1] : (tensor<4x6xf32>) -> tensor<4x1xf32>

// -----

%a = "test.op"() : () -> tensor<4x6xf32>
// expected-error@+1 {{kind = sum should be max or min}}
%c = dataflow.arg_reduce sum %a axis 1 : (tensor<4x6xf32>) -> tensor<4x1xi64>

// -----

%a = "test.op"() : () -> tensor<4x6xf32>
// expected-error@+1 {{operand of shape [4, 6] has 24 elements: expected 25 for shape [5, 5]}}
%c = dataflow.reshape %a : (tensor<4x6xf32>) -> tensor<5x5xf32>

// -----

%a = "test.op"() : () -> tensor<4x6xf32>
// expected-error@+1 {{permutation = [0, 0] should hold each of 0 to 1 once}}
%c = dataflow.transpose %a [0, 0] : (tensor<4x6xf32>) -> tensor<4x4xf32>

// -----

%a = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{slice reads elements 2 to 4 of dimension 0: expected to stay in [0, 4)}}
%c = dataflow.slice %a starts [2] sizes [3] steps [1] : (tensor<4xf32>) -> tensor<3xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x6xf32>, tensor<4x5xf32>)
// expected-error@+1 {{operand 1 has shape [4, 5]: expected [4, 6] but for axis 0}}
%c = dataflow.concat %a, %b axis 0 : (tensor<4x6xf32>, tensor<4x5xf32>) -> tensor<8x6xf32>

// -----

%a = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{value has type i32: expected the element type f32}}
%c = dataflow.pad %a low [1] high [0] interior [0] value 1 : i32 : (tensor<4xf32>) -> tensor<5xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4xf32>, tensor<2xf32>)
// expected-error@+1 {{indices have element type f32: expected i32 or i64}}
%c = dataflow.gather %a, %b axis 0 : (tensor<4xf32>, tensor<2xf32>) -> tensor<2xf32>

// -----

%x, %i, %u = "test.op"() : () -> (tensor<4x6xf32>, tensor<3x2xi64>, tensor<3x2xf32>)
// expected-error@+1 {{indices have shape [3, 2]: expected [4, 'n'], a row of them for each batch}}
%c = dataflow.scatter add %x, %i, %u batch 1 : (tensor<4x6xf32>, tensor<3x2xi64>, tensor<3x2xf32>) -> tensor<4x6xf32>

// -----

%x, %i, %u = "test.op"() : () -> (tensor<4x6xf32>, tensor<2xi64>, tensor<2x5xf32>)
// expected-error@+1 {{updates have type tensor<2x5xf32>: expected (2, 6) of data's type}}
%c = dataflow.scatter set %x, %i, %u batch 0 : (tensor<4x6xf32>, tensor<2xi64>, tensor<2x5xf32>) -> tensor<4x6xf32>

// -----

%x, %i, %u = "test.op"() : () -> (tensor<4xi1>, tensor<2xi64>, tensor<2xi1>)
// expected-error@+1 {{data has element type i1, which has no 'max': expected float or integer}}
%c = dataflow.scatter max %x, %i, %u batch 0 : (tensor<4xi1>, tensor<2xi64>, tensor<2xi1>) -> tensor<4xi1>

// -----

%x, %i, %u = "test.op"() : () -> (tensor<4xf32>, tensor<2xi64>, tensor<2xf32>)
// expected-error@+1 {{batch = 1 should be in [0, 1), less than the rank of data}}
%c = dataflow.scatter max %x, %i, %u batch 1 : (tensor<4xf32>, tensor<2xi64>, tensor<2xf32>) -> tensor<4xf32>

// -----

// expected-error@+1 {{result has element type bf16, which does not hold every integer up to 299}}
%c = dataflow.iota axis 0 : tensor<300xbf16>

// -----

// expected-error@+1 {{bytes = 12 should be 16 for tensor<4xf32>}}
%c = dataflow.weight @w {source = "net.onnx", offset = 0 : i64, bytes = 12 : i64, sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"} : tensor<4xf32>

// -----

// expected-error@+1 {{dataflow.weight needs an entry 'offset'}}
%c = dataflow.weight @w {source = "net.onnx", bytes = 12 : i64} : tensor<4xf32>

// -----

%a = "test.op"() : () -> tensor<4xf32>
// expected-error@+1 {{result has type tensor<5xf32>: expected tensor<4xf32>}}
%c = dataflow.neg %a : (tensor<4xf32>) -> tensor<5xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x6xf32>, tensor<6x5xi16>)
// expected-error@+1 {{operands have element types f32 and i16: expected equal ones, a float and an integer of 8 bits, or one of these and pairs of 4 bits}}
%c = dataflow.matmul %a, %b : (tensor<4x6xf32>, tensor<6x5xi16>) -> tensor<4x5xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<1x4x8xi8>, tensor<6x4x3xf32>)
// expected-error@+1 {{operands have element types i8 and f32: only weights are widened}}
%c = dataflow.conv %a, %b strides [1] dilations [1] pad [0] to [0] groups 1 : (tensor<1x4x8xi8>, tensor<6x4x3xf32>) -> tensor<1x6x6xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<1x4x8xi8>, tensor<6x4x3xi8>)
// expected-error@+1 {{pad_value = 128 should be one of the operand's i8, an integer}}
%c = dataflow.conv %a, %b strides [1] dilations [1] pad [1] to [0] groups 1 pad_value 128 : (tensor<1x4x8xi8>, tensor<6x4x3xi8>) -> tensor<1x6x7xi32>

// -----

%a, %b = "test.op"() : () -> (tensor<1x4x8xf32>, tensor<6x4x3xf32>)
// expected-error@+1 {{pad_value = 1 should be one of the operand's f32, an integer}}
%c = dataflow.conv %a, %b strides [1] dilations [1] pad [1] to [0] groups 1 pad_value 1 : (tensor<1x4x8xf32>, tensor<6x4x3xf32>) -> tensor<1x6x7xf32>

// -----

%a, %b = "test.op"() : () -> (tensor<4x6xi16>, tensor<6xf32>)
// expected-error@+1 {{operands have element types i16 and f32: expected i32 or f32, and f32}}
%c = dataflow.quantize %a, %b zero 3 : (tensor<4x6xi16>, tensor<6xf32>) -> tensor<4x6xi8>

// -----

%a, %b = "test.op"() : () -> (tensor<4x6xi32>, tensor<6xf32>)
// expected-error@+1 {{the result has element type i16: expected i8 or ui8}}
%c = dataflow.quantize %a, %b zero 3 : (tensor<4x6xi32>, tensor<6xf32>) -> tensor<4x6xi16>

// -----

%a, %b = "test.op"() : () -> (tensor<4x6xi32>, tensor<6xf32>)
// expected-error@+1 {{zero = 200 should be within the result's type, -128 to 127}}
%c = dataflow.quantize %a, %b zero 200 : (tensor<4x6xi32>, tensor<6xf32>) -> tensor<4x6xi8>

// -----

func.func @main(%x: tensor<4x6xf32>, %w: tensor<4x8xvector<2xi4>>) -> tensor<4x8xf32> {
  // expected-error@+1 {{operands have shapes [4, 6] and [4, 8]: K is 6 in one and 4 in the other}}
  %y = dataflow.matmul %x, %w : (tensor<4x6xf32>, tensor<4x8xvector<2xi4>>) -> tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// -----

func.func @main(%w: tensor<4x8xvector<2xi4>>) -> tensor<4x8xvector<2xi4>> {
  // expected-error@+1 {{only contractions and slices accept pairs}}
  %y = dataflow.neg %w : (tensor<4x8xvector<2xi4>>) -> tensor<4x8xvector<2xi4>>
  func.return %y : tensor<4x8xvector<2xi4>>
}

// -----

func.func @main(%a: tensor<4x3xvector<2xi4>>, %b: tensor<6x8xvector<2xi4>>) -> tensor<4x8xi32> {
  // expected-error@+1 {{or one of these and pairs of 4 bits}}
  %y = dataflow.matmul %a, %b : (tensor<4x3xvector<2xi4>>, tensor<6x8xvector<2xi4>>) -> tensor<4x8xi32>
  func.return %y : tensor<4x8xi32>
}
