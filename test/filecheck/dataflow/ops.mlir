// RUN: meshloom-opt %s --print-op-generic | meshloom-opt | filecheck %s
// RUN: meshloom-opt %s | meshloom-opt --print-op-generic | filecheck %s --check-prefix=CHECK-GENERIC

// Every operation of the dialect in its own syntax, there and back through the generic one.

%x, %y, %row, %mask, %i, %j = "test.op"() : () -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<6xf32>, tensor<4x1xi1>, tensor<4x6xi32>, tensor<6xi32>)
%image, %w, %rows = "test.op"() : () -> (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>, tensor<2xi64>)

%c0 = dataflow.constant dense<[1.0, 0.1]> : tensor<2xf32>
%c2 = dataflow.constant dense<"0x00000080"> : tensor<64xf32>
%c3 = dataflow.constant dense<[true, false]> : tensor<2xi1>
%c4 = dataflow.constant dense<> : tensor<0xi64>
%weight = dataflow.weight @stem {source = "net.onnx", offset = 128 : i64, bytes = 48 : i64, sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"} : tensor<3x4xf32>
// CHECK:      %c0 = dataflow.constant dense<[1.000000e+00, 1.000000e-01]> : tensor<2xf32>
// CHECK-NEXT: %c2 = dataflow.constant dense<"0x00000080"> : tensor<64xf32>
// CHECK-NEXT: %c3 = dataflow.constant dense<[true, false]> : tensor<2xi1>
// CHECK-NEXT: %c4 = dataflow.constant dense<> : tensor<0xi64>
// CHECK-NEXT: %weight = dataflow.weight @stem {source = "net.onnx", offset = 128 : i64, bytes = 48 : i64, sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"} : tensor<3x4xf32>
// CHECK-GENERIC: %weight = "dataflow.weight"() <{sym_name = "stem", source = "net.onnx", offset = 128 : i64, bytes = 48 : i64, sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}> : () -> tensor<3x4xf32>

%neg = dataflow.neg %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
%abs = dataflow.abs %i : (tensor<4x6xi32>) -> tensor<4x6xi32>
%exp = dataflow.exp %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
%log = dataflow.log %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
%sqrt = dataflow.sqrt %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
%rsqrt = dataflow.rsqrt %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
%reciprocal = dataflow.reciprocal %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
%tanh = dataflow.tanh %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
%sigmoid = dataflow.sigmoid %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
%erf = dataflow.erf %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
%floor = dataflow.floor %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
%ceil = dataflow.ceil %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
%round = dataflow.round %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
%sign = dataflow.sign %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
%sin = dataflow.sin %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
%cos = dataflow.cos %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
%not = dataflow.not %mask : (tensor<4x1xi1>) -> tensor<4x1xi1>
%isnan = dataflow.isnan %x : (tensor<4x6xf32>) -> tensor<4x6xi1>
%isinf = dataflow.isinf %x : (tensor<4x6xf32>) -> tensor<4x6xi1>
%relu = dataflow.relu %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
%cast = dataflow.cast %x : (tensor<4x6xf32>) -> tensor<4x6xbf16>
%bitcast = dataflow.bitcast %x : (tensor<4x6xf32>) -> tensor<4x6xi32>
// CHECK-NEXT: %neg = dataflow.neg %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %abs = dataflow.abs %i : (tensor<4x6xi32>) -> tensor<4x6xi32>
// CHECK-NEXT: %exp = dataflow.exp %x
// CHECK-NEXT: %log = dataflow.log %x
// CHECK-NEXT: %sqrt = dataflow.sqrt %x
// CHECK-NEXT: %rsqrt = dataflow.rsqrt %x
// CHECK-NEXT: %reciprocal = dataflow.reciprocal %x
// CHECK-NEXT: %tanh = dataflow.tanh %x
// CHECK-NEXT: %sigmoid = dataflow.sigmoid %x
// CHECK-NEXT: %erf = dataflow.erf %x
// CHECK-NEXT: %floor = dataflow.floor %x
// CHECK-NEXT: %ceil = dataflow.ceil %x
// CHECK-NEXT: %round = dataflow.round %x
// CHECK-NEXT: %sign = dataflow.sign %x
// CHECK-NEXT: %sin = dataflow.sin %x
// CHECK-NEXT: %cos = dataflow.cos %x
// CHECK-NEXT: %not = dataflow.not %mask : (tensor<4x1xi1>) -> tensor<4x1xi1>
// CHECK-NEXT: %isnan = dataflow.isnan %x : (tensor<4x6xf32>) -> tensor<4x6xi1>
// CHECK-NEXT: %isinf = dataflow.isinf %x : (tensor<4x6xf32>) -> tensor<4x6xi1>
// CHECK-NEXT: %relu = dataflow.relu %x
// CHECK-NEXT: %cast = dataflow.cast %x : (tensor<4x6xf32>) -> tensor<4x6xbf16>
// CHECK-NEXT: %bitcast = dataflow.bitcast %x : (tensor<4x6xf32>) -> tensor<4x6xi32>

%add = dataflow.add %x, %row : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
%sub = dataflow.sub %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
%mul = dataflow.mul %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
%div = dataflow.div %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
%pow = dataflow.pow %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
%maximum = dataflow.maximum %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
%minimum = dataflow.minimum %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
%mod = dataflow.mod %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
%fmod = dataflow.fmod %x, %y : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
%and = dataflow.and %i, %j : (tensor<4x6xi32>, tensor<6xi32>) -> tensor<4x6xi32>
%or = dataflow.or %i, %j : (tensor<4x6xi32>, tensor<6xi32>) -> tensor<4x6xi32>
%xor = dataflow.xor %i, %j : (tensor<4x6xi32>, tensor<6xi32>) -> tensor<4x6xi32>
%shl = dataflow.shift_left %i, %j : (tensor<4x6xi32>, tensor<6xi32>) -> tensor<4x6xi32>
%shr = dataflow.shift_right %i, %j : (tensor<4x6xi32>, tensor<6xi32>) -> tensor<4x6xi32>
%compare = dataflow.compare lt %x, %row : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xi1>
%select = dataflow.select %mask, %x, %row : (tensor<4x1xi1>, tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %add = dataflow.add %x, %row : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %sub = dataflow.sub %x, %y
// CHECK-NEXT: %mul = dataflow.mul %x, %y
// CHECK-NEXT: %div = dataflow.div %x, %y
// CHECK-NEXT: %pow = dataflow.pow %x, %y
// CHECK-NEXT: %maximum = dataflow.maximum %x, %y
// CHECK-NEXT: %minimum = dataflow.minimum %x, %y
// CHECK-NEXT: %mod = dataflow.mod %x, %y
// CHECK-NEXT: %fmod = dataflow.fmod %x, %y
// CHECK-NEXT: %and = dataflow.and %i, %j
// CHECK-NEXT: %or = dataflow.or %i, %j
// CHECK-NEXT: %xor = dataflow.xor %i, %j
// CHECK-NEXT: %shl = dataflow.shift_left %i, %j
// CHECK-NEXT: %shr = dataflow.shift_right %i, %j
// CHECK-NEXT: %compare = dataflow.compare lt %x, %row : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xi1>
// CHECK-NEXT: %select = dataflow.select %mask, %x, %row
// CHECK-GENERIC: %compare = "dataflow.compare"(%x, %row) <{predicate = #dataflow<predicate lt>}>

%matmul = dataflow.matmul %x, %y transpose_b : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x4xf32>
%partial = dataflow.partial_matmul %x, %y parts 3 transpose_b : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<3x4x4xf32>
%conv = dataflow.conv %image, %w strides [2, 2] dilations [1, 1] pad [1, 1] to [1, 0] groups 2 : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x4x4xf32>
%reduce = dataflow.reduce sum %x axes [1] : (tensor<4x6xf32>) -> tensor<4x1xf32>
%window = dataflow.reduce_window max %x window [1, 2] strides [1, 2] dilations [1, 1] pad [0, 1] to [0, 1] : (tensor<4x6xf32>) -> tensor<4x4xf32>
%arg = dataflow.arg_reduce min %x axis 0 : (tensor<4x6xf32>) -> tensor<1x6xi64>
%cumsum = dataflow.cumsum %x axis 1 exclusive reverse : (tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %matmul = dataflow.matmul %x, %y transpose_b : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %partial = dataflow.partial_matmul %x, %y parts 3 transpose_b : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<3x4x4xf32>
// CHECK-NEXT: %conv = dataflow.conv %image, %w strides [2, 2] dilations [1, 1] pad [1, 1] to [1, 0] groups 2 : (tensor<1x4x8x8xf32>, tensor<6x2x3x3xf32>) -> tensor<1x6x4x4xf32>
// CHECK-NEXT: %reduce = dataflow.reduce sum %x axes [1] : (tensor<4x6xf32>) -> tensor<4x1xf32>
// CHECK-NEXT: %window = dataflow.reduce_window max %x window [1, 2] strides [1, 2] dilations [1, 1] pad [0, 1] to [0, 1] : (tensor<4x6xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %arg = dataflow.arg_reduce min %x axis 0 : (tensor<4x6xf32>) -> tensor<1x6xi64>
// CHECK-NEXT: %cumsum = dataflow.cumsum %x axis 1 exclusive reverse : (tensor<4x6xf32>) -> tensor<4x6xf32>

%reshape = dataflow.reshape %x : (tensor<4x6xf32>) -> tensor<2x12xf32>
%transpose = dataflow.transpose %x [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
%slice = dataflow.slice %x starts [3, 0] sizes [2, 3] steps [-1, 2] : (tensor<4x6xf32>) -> tensor<2x3xf32>
%concat = dataflow.concat %x, %y axis 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
%pad = dataflow.pad %x low [1, 0] high [0, 2] interior [1, 0] value 5.000000e-01 : f32 : (tensor<4x6xf32>) -> tensor<8x8xf32>
%broadcast = dataflow.broadcast %row : (tensor<6xf32>) -> tensor<4x6xf32>
%gather = dataflow.gather %x, %rows axis 1 : (tensor<4x6xf32>, tensor<2xi64>) -> tensor<4x2xf32>
%places, %parts = "test.op"() : () -> (tensor<4x2xi64>, tensor<4x2xf32>)
%scatter = dataflow.scatter add %x, %places, %parts batch 1 : (tensor<4x6xf32>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<4x6xf32>
%iota = dataflow.iota axis 1 : tensor<2x5xi64>
// CHECK-NEXT: %reshape = dataflow.reshape %x : (tensor<4x6xf32>) -> tensor<2x12xf32>
// CHECK-NEXT: %transpose = dataflow.transpose %x [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
// CHECK-NEXT: %slice = dataflow.slice %x starts [3, 0] sizes [2, 3] steps [-1, 2] : (tensor<4x6xf32>) -> tensor<2x3xf32>
// CHECK-NEXT: %concat = dataflow.concat %x, %y axis 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
// CHECK-NEXT: %pad = dataflow.pad %x low [1, 0] high [0, 2] interior [1, 0] value 5.000000e-01 : f32 : (tensor<4x6xf32>) -> tensor<8x8xf32>
// CHECK-NEXT: %broadcast = dataflow.broadcast %row : (tensor<6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %gather = dataflow.gather %x, %rows axis 1 : (tensor<4x6xf32>, tensor<2xi64>) -> tensor<4x2xf32>
// CHECK-NEXT: %places, %parts = "test.op"()
// CHECK-NEXT: %scatter = dataflow.scatter add %x, %places, %parts batch 1 : (tensor<4x6xf32>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: %iota = dataflow.iota axis 1 : tensor<2x5xi64>
