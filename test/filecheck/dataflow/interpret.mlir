// RUN: meshloom-opt %s -p canonicalize | filecheck %s

// What operations compute: folding runs the same reference semantics as the interpreter.

// CHECK-LABEL: @elementwise
func.func @elementwise() -> (tensor<3xf32>, tensor<3xi1>, tensor<2x2xi32>, tensor<4xi32>, tensor<2xf32>) {
  %x = dataflow.constant dense<[0.5, 1.5, -2.5]> : tensor<3xf32>
  // CHECK-DAG: dense<[0.000000e+00, 2.000000e+00, -2.000000e+00]> : tensor<3xf32>
  %0 = dataflow.round %x : (tensor<3xf32>) -> tensor<3xf32>
  %one = dataflow.constant dense<1.0> : tensor<1xf32>
  // CHECK-DAG: dense<[true, false, true]> : tensor<3xi1>
  %1 = dataflow.compare lt %x, %one : (tensor<3xf32>, tensor<1xf32>) -> tensor<3xi1>
  %column = dataflow.constant dense<[[1], [2]]> : tensor<2x1xi32>
  %row = dataflow.constant dense<[10, 20]> : tensor<2xi32>
  // CHECK-DAG: dense<[[11, 21], [12, 22]]> : tensor<2x2xi32>
  %2 = dataflow.add %column, %row : (tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x2xi32>
  %a = dataflow.constant dense<[7, -7, 7, -7]> : tensor<4xi32>
  %b = dataflow.constant dense<[2, 2, -2, -2]> : tensor<4xi32>
  // CHECK-DAG: dense<[1, 1, -1, -1]> : tensor<4xi32>
  %3 = dataflow.mod %a, %b : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  %mask = dataflow.constant dense<[true, false]> : tensor<2xi1>
  // CHECK-DAG: dense<[1.000000e+00, 0.000000e+00]> : tensor<2xf32>
  %4 = dataflow.cast %mask : (tensor<2xi1>) -> tensor<2xf32>
  func.return %0, %1, %2, %3, %4 : tensor<3xf32>, tensor<3xi1>, tensor<2x2xi32>, tensor<4xi32>, tensor<2xf32>
}

// CHECK-LABEL: @bits
func.func @bits() -> (tensor<2xi32>, tensor<2xf16>) {
  %x = dataflow.constant dense<[1.0, -2.0]> : tensor<2xf32>
  // CHECK-DAG: dense<[1065353216, -1073741824]> : tensor<2xi32>
  %0 = dataflow.bitcast %x : (tensor<2xf32>) -> tensor<2xi32>
  %half = dataflow.constant dense<[15360, -16384]> : tensor<2xi16>
  // CHECK-DAG: dense<[1.000000e+00, -2.000000e+00]> : tensor<2xf16>
  %1 = dataflow.bitcast %half : (tensor<2xi16>) -> tensor<2xf16>
  func.return %0, %1 : tensor<2xi32>, tensor<2xf16>
}

// CHECK-LABEL: @contraction
func.func @contraction() -> (tensor<2x2xf32>, tensor<1x1x3xf32>, tensor<1x2x3xf32>, tensor<1x1xi32>, tensor<2x2x2xf32>) {
  %m = dataflow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  // CHECK-DAG: dense<[[5.000000e+00, 1.100000e+01], [1.100000e+01, 2.500000e+01]]> : tensor<2x2xf32>
  %0 = dataflow.matmul %m, %m transpose_b : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %x = dataflow.constant dense<[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]> : tensor<1x2x3xf32>
  %w = dataflow.constant dense<[[[1.0, 0.0, 1.0], [0.0, 10.0, 0.0]]]> : tensor<1x2x3xf32>
  // Channel 0 gives 2, 1 + 3, 2; channel 1 gives 40, 50, 60.
  // CHECK-DAG: dense<[{{\[}}[4.200000e+01, 5.400000e+01, 6.200000e+01]]]> : tensor<1x1x3xf32>
  %1 = dataflow.conv %x, %w strides [1] dilations [1] pad [1] to [1] groups 1 : (tensor<1x2x3xf32>, tensor<1x2x3xf32>) -> tensor<1x1x3xf32>
  %d = dataflow.constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  // CHECK-DAG: dense<[{{\[}}[2.000000e+00, 4.000000e+00, 6.000000e+00], [1.200000e+01, 1.500000e+01, 1.800000e+01]]]> : tensor<1x2x3xf32>
  %2 = dataflow.conv %x, %d strides [1] dilations [1] pad [0] to [0] groups 2 : (tensor<1x2x3xf32>, tensor<2x1x1xf32>) -> tensor<1x2x3xf32>
  %i = dataflow.constant dense<[[100, 100]]> : tensor<1x2xi8>
  // CHECK-DAG: dense<20000> : tensor<1x1xi32>
  %3 = dataflow.matmul %i, %i transpose_b : (tensor<1x2xi8>, tensor<1x2xi8>) -> tensor<1x1xi32>
  // Of the product above: 1 * 1, 1 * 3, 3 * 1, 3 * 3 from the first columns, 2 * 2, 2 * 4, 4 * 2, 4 * 4 from the second.
  // CHECK-DAG: dense<[{{\[}}[1.000000e+00, 3.000000e+00], [3.000000e+00, 9.000000e+00]], {{\[}}[4.000000e+00, 8.000000e+00], [8.000000e+00, 1.600000e+01]]]> : tensor<2x2x2xf32>
  %4 = dataflow.partial_matmul %m, %m parts 2 transpose_b : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2x2xf32>
  func.return %0, %1, %2, %3, %4 : tensor<2x2xf32>, tensor<1x1x3xf32>, tensor<1x2x3xf32>, tensor<1x1xi32>, tensor<2x2x2xf32>
}

// CHECK-LABEL: @reduction
func.func @reduction() -> (tensor<2x1xi32>, tensor<2x2xi32>, tensor<2x1xi64>, tensor<2x3xi32>) {
  %x = dataflow.constant dense<[[3, 1, 3], [2, 5, 4]]> : tensor<2x3xi32>
  // CHECK-DAG: dense<[[7], [11]]> : tensor<2x1xi32>
  %0 = dataflow.reduce sum %x axes [1] : (tensor<2x3xi32>) -> tensor<2x1xi32>
  // CHECK-DAG: dense<[[3, 3], [2, 5]]> : tensor<2x2xi32>
  %1 = dataflow.reduce_window max %x window [1, 2] strides [1, 2] dilations [1, 1] pad [0, 1] to [0, 0] : (tensor<2x3xi32>) -> tensor<2x2xi32>
  // CHECK-DAG: dense<[[0], [1]]> : tensor<2x1xi64>
  %2 = dataflow.arg_reduce max %x axis 1 : (tensor<2x3xi32>) -> tensor<2x1xi64>
  // CHECK-DAG: dense<[[4, 3, 0], [9, 4, 0]]> : tensor<2x3xi32>
  %3 = dataflow.cumsum %x axis 1 exclusive reverse : (tensor<2x3xi32>) -> tensor<2x3xi32>
  func.return %0, %1, %2, %3 : tensor<2x1xi32>, tensor<2x2xi32>, tensor<2x1xi64>, tensor<2x3xi32>
}

// CHECK-LABEL: @movement
func.func @movement() -> (tensor<3x2xi32>, tensor<2x2xi32>, tensor<4x3xi32>, tensor<3x4xi32>, tensor<2x2xi32>, tensor<2x3xi64>) {
  %x = dataflow.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  // CHECK-DAG: dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi32>
  %0 = dataflow.transpose %x [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  // CHECK-DAG: dense<[[6, 4], [3, 1]]> : tensor<2x2xi32>
  %1 = dataflow.slice %x starts [1, 2] sizes [2, 2] steps [-1, -2] : (tensor<2x3xi32>) -> tensor<2x2xi32>
  // CHECK-DAG: dense<[[1, 2, 3], [4, 5, 6], [1, 2, 3], [4, 5, 6]]> : tensor<4x3xi32>
  %2 = dataflow.concat %x, %x axis 0 : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<4x3xi32>
  // CHECK-DAG: dense<[[9, 1, 2, 3], [9, 9, 9, 9], [9, 4, 5, 6]]> : tensor<3x4xi32>
  %3 = dataflow.pad %x low [0, 1] high [0, 0] interior [1, 0] value 9 : i32 : (tensor<2x3xi32>) -> tensor<3x4xi32>
  %i = dataflow.constant dense<[-1, 0]> : tensor<2xi64>
  // CHECK-DAG: dense<[[3, 1], [6, 4]]> : tensor<2x2xi32>
  %4 = dataflow.gather %x, %i axis 1 : (tensor<2x3xi32>, tensor<2xi64>) -> tensor<2x2xi32>
  // CHECK-DAG: dense<[[0, 1, 2], [0, 1, 2]]> : tensor<2x3xi64>
  %5 = dataflow.iota axis 1 : tensor<2x3xi64>
  func.return %0, %1, %2, %3, %4, %5 : tensor<3x2xi32>, tensor<2x2xi32>, tensor<4x3xi32>, tensor<3x4xi32>, tensor<2x2xi32>, tensor<2x3xi64>
}

// Data 1 2 3 4 5; -1 is the last row, and row 0 meets two updates: 10 and then 20.
// CHECK-LABEL: @scatter
func.func @scatter() -> (tensor<5xi32>, tensor<5xi32>, tensor<2x2xi32>) {
  %x = dataflow.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi32>
  %i = dataflow.constant dense<[0, -1, 0]> : tensor<3xi64>
  %u = dataflow.constant dense<[10, 30, 20]> : tensor<3xi32>
  // CHECK-DAG: dense<[31, 2, 3, 4, 35]> : tensor<5xi32>
  %0 = dataflow.scatter add %x, %i, %u batch 0 : (tensor<5xi32>, tensor<3xi64>, tensor<3xi32>) -> tensor<5xi32>
  // CHECK-DAG: dense<[20, 2, 3, 4, 30]> : tensor<5xi32>
  %1 = dataflow.scatter set %x, %i, %u batch 0 : (tensor<5xi32>, tensor<3xi64>, tensor<3xi32>) -> tensor<5xi32>
  %d = dataflow.constant dense<[[1, 9], [3, 4]]> : tensor<2x2xi32>
  %j = dataflow.constant dense<[[1], [0]]> : tensor<2x1xi64>
  %v = dataflow.constant dense<[[7], [7]]> : tensor<2x1xi32>
  // CHECK-DAG: dense<[[1, 9], [7, 4]]> : tensor<2x2xi32>
  %2 = dataflow.scatter max %d, %j, %v batch 1 : (tensor<2x2xi32>, tensor<2x1xi64>, tensor<2x1xi32>) -> tensor<2x2xi32>
  func.return %0, %1, %2 : tensor<5xi32>, tensor<5xi32>, tensor<2x2xi32>
}
