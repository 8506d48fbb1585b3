// RUN: meshloom-opt %s -p canonicalize | filecheck %s

// CHECK-LABEL: @identities
func.func @identities(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // CHECK-NEXT: func.return %x
  %0 = dataflow.reshape %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = dataflow.transpose %0 [0, 1] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %2 = dataflow.slice %1 starts [0, 0] sizes [4, 6] steps [1, 1] : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = dataflow.cast %2 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %same = dataflow.bitcast %3 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = dataflow.broadcast %same : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %5 = dataflow.pad %4 low [0, 0] high [0, 0] interior [0, 0] value 0.0 : f32 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %6 = dataflow.concat %5 axis 0 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %7 = dataflow.transpose %6 [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %8 = dataflow.transpose %7 [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %9 = dataflow.neg %8 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %10 = dataflow.neg %9 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  func.return %10 : tensor<4x6xf32>
}

// x + -0.0, x - 0.0, x * 1 and x / 1 are x to the last bit.
// CHECK-LABEL: @neutral
func.func @neutral(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: func.return %x
  %zero = dataflow.constant dense<0.0> : tensor<1xf32>
  %minus = dataflow.constant dense<"0x00000080"> : tensor<1xf32>
  %one = dataflow.constant dense<1.0> : tensor<4xf32>
  %0 = dataflow.add %minus, %x : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = dataflow.sub %0, %zero : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  %2 = dataflow.mul %one, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = dataflow.div %2, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}

// -0.0 + 0.0 is 0.0, and a result of another shape is not the operand.
// CHECK-LABEL: @not_neutral
func.func @not_neutral(%x: tensor<1xf32>) -> tensor<4xf32> {
  %zero = dataflow.constant dense<0.0> : tensor<1xf32>
  %one = dataflow.constant dense<1.0> : tensor<4xf32>
  // CHECK: dataflow.add
  %0 = dataflow.add %x, %zero : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  // CHECK: dataflow.mul
  %1 = dataflow.mul %0, %one : (tensor<1xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}

// CHECK-LABEL: @constants
func.func @constants() -> (tensor<2x1xi64>, tensor<2xf32>, tensor<2000xf32>) {
  %a = dataflow.constant dense<[7, -7]> : tensor<2xi64>
  %b = dataflow.constant dense<[2]> : tensor<1xi64>
  %0 = dataflow.div %a, %b : (tensor<2xi64>, tensor<1xi64>) -> tensor<2xi64>
  // CHECK-DAG: dataflow.constant dense<[[3], [-3]]> : tensor<2x1xi64>
  %1 = dataflow.reshape %0 : (tensor<2xi64>) -> tensor<2x1xi64>
  %c = dataflow.constant dense<[0.0, -1.0]> : tensor<2xf32>
  // CHECK-DAG: dataflow.constant dense<"0x0000807F000080BF"> : tensor<2xf32>
  %2 = dataflow.reciprocal %c : (tensor<2xf32>) -> tensor<2xf32>
  // Above 4096 bytes only equal elements become a constant.
  // CHECK-DAG: dataflow.iota
  %3 = dataflow.iota axis 0 : tensor<2000xf32>
  func.return %1, %2, %3 : tensor<2x1xi64>, tensor<2xf32>, tensor<2000xf32>
}

// CHECK-LABEL: @movement
func.func @movement(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> (tensor<2x3x4xf32>, tensor<2x2xf32>, tensor<8x6xf32>, tensor<6xf32>) {
  // CHECK-NEXT: %[[R:.*]] = dataflow.reshape %x : (tensor<4x6xf32>) -> tensor<2x3x4xf32>
  %0 = dataflow.reshape %x : (tensor<4x6xf32>) -> tensor<24xf32>
  %1 = dataflow.reshape %0 : (tensor<24xf32>) -> tensor<2x3x4xf32>
  // CHECK-NEXT: %[[S:.*]] = dataflow.slice %y starts [1, 4] sizes [2, 2] steps [1, -2] : (tensor<4x6xf32>) -> tensor<2x2xf32>
  %2 = dataflow.concat %x, %y axis 0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %3 = dataflow.slice %2 starts [4, 0] sizes [4, 3] steps [1, 2] : (tensor<8x6xf32>) -> tensor<4x3xf32>
  %4 = dataflow.slice %3 starts [1, 2] sizes [2, 2] steps [1, -1] : (tensor<4x3xf32>) -> tensor<2x2xf32>
  // CHECK-NEXT: %[[A:.*]] = dataflow.pad %x low [1, 0] high [3, 0] interior [0, 0]
  %5 = dataflow.pad %x low [1, 0] high [1, 0] interior [0, 0] value 0.0 : f32 : (tensor<4x6xf32>) -> tensor<6x6xf32>
  %6 = dataflow.pad %5 low [0, 0] high [2, 0] interior [0, 0] value 0.0 : f32 : (tensor<6x6xf32>) -> tensor<8x6xf32>
  // One row by a constant index is a slice.
  // CHECK-NEXT: %[[ROW:.*]] = dataflow.slice %x starts [3, 0] sizes [1, 6] steps [1, 1]
  // CHECK-NEXT: dataflow.reshape %[[ROW]] : (tensor<1x6xf32>) -> tensor<6xf32>
  %i = dataflow.constant dense<-1> : tensor<i64>
  %7 = dataflow.gather %x, %i axis 0 : (tensor<4x6xf32>, tensor<i64>) -> tensor<6xf32>
  func.return %1, %4, %6, %7 : tensor<2x3x4xf32>, tensor<2x2xf32>, tensor<8x6xf32>, tensor<6xf32>
}

// CHECK-LABEL: @computing
func.func @computing(%x: tensor<4x6xf32>, %row: tensor<6xf32>, %y: tensor<6x4xf32>) -> (tensor<4x6xf32>, tensor<4x4xf32>, tensor<1x1xf32>, tensor<4x6xi32>) {
  // CHECK-NEXT: %{{.*}} = dataflow.add %x, %row
  %0 = dataflow.broadcast %row : (tensor<6xf32>) -> tensor<4x6xf32>
  %1 = dataflow.add %x, %0 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  // CHECK-NEXT: %{{.*}} = dataflow.matmul %y, %y transpose_a
  %2 = dataflow.transpose %y [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %3 = dataflow.matmul %2, %y : (tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: %{{.*}} = dataflow.reduce max %x axes [0, 1]
  %4 = dataflow.reduce max %x axes [1] : (tensor<4x6xf32>) -> tensor<4x1xf32>
  %5 = dataflow.reduce max %4 axes [0] : (tensor<4x1xf32>) -> tensor<1x1xf32>
  // CHECK-NEXT: %{{.*}} = dataflow.cast %x : (tensor<4x6xf32>) -> tensor<4x6xi32>
  %6 = dataflow.cast %x : (tensor<4x6xf32>) -> tensor<4x6xf64>
  %7 = dataflow.cast %6 : (tensor<4x6xf64>) -> tensor<4x6xi32>
  func.return %1, %3, %5, %7 : tensor<4x6xf32>, tensor<4x4xf32>, tensor<1x1xf32>, tensor<4x6xi32>
}

// A product of zeros with finite values is zeros, where both are known; not with infinities, nor with a value that is not known.
// CHECK-LABEL: @products_with_zeros
func.func @products_with_zeros(%x: tensor<64x40xf32>) -> (tensor<1x40xf32>, tensor<1x40xf32>, tensor<1x40xf32>) {
  // CHECK-DAG: %[[ZERO:.+]] = dataflow.constant dense<0.000000e+00> : tensor<1x64xf32>
  // CHECK-DAG: %[[RESULT:.+]] = dataflow.constant dense<0.000000e+00> : tensor<1x40xf32>
  // CHECK-DAG: %[[NAN:.+]] = dataflow.constant dense<"0x{{.*}}"> : tensor<1x40xf32>
  // CHECK: %[[UNKNOWN:.+]] = dataflow.matmul %[[ZERO]], %x
  // CHECK: func.return %[[RESULT]], %[[NAN]], %[[UNKNOWN]]
  %zero = dataflow.constant dense<0.0> : tensor<1x64xf32>
  %w = dataflow.constant dense<-0.5> : tensor<64x40xf32>
  %infinite = dataflow.constant dense<"0x0000807F"> : tensor<64x40xf32>
  %0 = dataflow.matmul %zero, %w : (tensor<1x64xf32>, tensor<64x40xf32>) -> tensor<1x40xf32>
  %1 = dataflow.matmul %zero, %infinite : (tensor<1x64xf32>, tensor<64x40xf32>) -> tensor<1x40xf32>
  %2 = dataflow.matmul %zero, %x : (tensor<1x64xf32>, tensor<64x40xf32>) -> tensor<1x40xf32>
  func.return %0, %1, %2 : tensor<1x40xf32>, tensor<1x40xf32>, tensor<1x40xf32>
}

// Rows one after the other are a slice; others are gathered.
// CHECK-LABEL: @rows
func.func @rows(%x: tensor<6x2xf32>)
    -> (tensor<3x2xf32>, tensor<2x2xf32>, tensor<3x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>) {
  // CHECK-NEXT: dataflow.slice %x starts [5, 0] sizes [3, 2] steps [-1, 1]
  // CHECK-NEXT: %[[I:.*]] = dataflow.constant dense<2>
  // CHECK-NEXT: dataflow.gather %x, %[[I]]
  // CHECK-NEXT: dataflow.constant dense<[0, 2, 4]>
  // CHECK-NEXT: dataflow.gather
  // CHECK-NEXT: dataflow.slice %x starts [0, 0] sizes [4, 2] steps [1, 1]
  // CHECK-NEXT: dataflow.slice %x starts [3, 0] sizes [4, 2] steps [-1, 1]
  %i = dataflow.constant dense<[5, 4, 3]> : tensor<3xi64>
  %0 = dataflow.gather %x, %i axis 0 : (tensor<6x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  %j = dataflow.constant dense<2> : tensor<2xi64>
  %1 = dataflow.gather %x, %j axis 0 : (tensor<6x2xf32>, tensor<2xi64>) -> tensor<2x2xf32>
  %k = dataflow.constant dense<[0, 2, 4]> : tensor<3xi64>
  %2 = dataflow.gather %x, %k axis 0 : (tensor<6x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
  %l = dataflow.iota axis 0 : tensor<4xi64>
  %3 = dataflow.gather %x, %l axis 0 : (tensor<6x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
  %m = dataflow.slice %l starts [3] sizes [4] steps [-1] : (tensor<4xi64>) -> tensor<4xi64>
  %4 = dataflow.gather %x, %m axis 0 : (tensor<6x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
  func.return %0, %1, %2, %3, %4 : tensor<3x2xf32>, tensor<2x2xf32>, tensor<3x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>
}

// Of a value that only slices read, less is transposed and reshaped: heads of attention are columns of a product.
// CHECK-LABEL: @parts_of_a_transpose
func.func @parts_of_a_transpose(%x: tensor<6x24xf32>) -> (tensor<1x1x4x6x2xf32>, tensor<2x1x4x6x2xf32>) {
  // CHECK-NEXT: %a = dataflow.slice %x starts [0, 16] sizes [6, 8] steps [1, 1]
  // CHECK-NEXT: dataflow.reshape %a : (tensor<6x8xf32>) -> tensor<1x6x1x4x2xf32>
  // CHECK-NEXT: dataflow.transpose {{.*}} [2, 0, 3, 1, 4] : (tensor<1x6x1x4x2xf32>) -> tensor<1x1x4x6x2xf32>
  // CHECK-NEXT: dataflow.slice %x starts [0, 0] sizes [6, 16] steps [1, 1]
  %r = dataflow.reshape %x : (tensor<6x24xf32>) -> tensor<1x6x3x4x2xf32>
  %t = dataflow.transpose %r [2, 0, 3, 1, 4] : (tensor<1x6x3x4x2xf32>) -> tensor<3x1x4x6x2xf32>
  %a = dataflow.slice %t starts [2, 0, 0, 0, 0] sizes [1, 1, 4, 6, 2] steps [1, 1, 1, 1, 1] : (tensor<3x1x4x6x2xf32>) -> tensor<1x1x4x6x2xf32>
  %b = dataflow.slice %t starts [0, 0, 0, 0, 0] sizes [2, 1, 4, 6, 2] steps [1, 1, 1, 1, 1] : (tensor<3x1x4x6x2xf32>) -> tensor<2x1x4x6x2xf32>
  func.return %a, %b : tensor<1x1x4x6x2xf32>, tensor<2x1x4x6x2xf32>
}

// Not moved: another operation reads the transposed value; the inner part of a dimension; several dimensions; one that is
// reversed.
// CHECK-LABEL: @not_parts
func.func @not_parts(%x: tensor<6x8xf32>)
    -> (tensor<2x6xf32>, tensor<8x6xf32>, tensor<6x4x1xf32>, tensor<3x2x2xf32>, tensor<6x2x2xf32>) {
  // CHECK-NEXT: dataflow.transpose
  // CHECK-NEXT: dataflow.slice
  // CHECK-NEXT: dataflow.exp
  // CHECK-NEXT: dataflow.reshape
  // CHECK-NEXT: dataflow.slice
  // CHECK-NEXT: dataflow.slice
  // CHECK-NEXT: dataflow.slice {{.*}} starts [0, 1, 1] sizes [6, 2, 2] steps [1, 1, -1]
  %t = dataflow.transpose %x [1, 0] : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %a = dataflow.slice %t starts [0, 0] sizes [2, 6] steps [1, 1] : (tensor<8x6xf32>) -> tensor<2x6xf32>
  %b = dataflow.exp %t : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %r = dataflow.reshape %x : (tensor<6x8xf32>) -> tensor<6x4x2xf32>
  %c = dataflow.slice %r starts [0, 0, 1] sizes [6, 4, 1] steps [1, 1, 1] : (tensor<6x4x2xf32>) -> tensor<6x4x1xf32>
  %d = dataflow.slice %r starts [0, 1, 0] sizes [3, 2, 2] steps [1, 1, 1] : (tensor<6x4x2xf32>) -> tensor<3x2x2xf32>
  %e = dataflow.slice %r starts [0, 1, 1] sizes [6, 2, 2] steps [1, 1, -1] : (tensor<6x4x2xf32>) -> tensor<6x2x2xf32>
  func.return %a, %b, %c, %d, %e : tensor<2x6xf32>, tensor<8x6xf32>, tensor<6x4x1xf32>, tensor<3x2x2xf32>, tensor<6x2x2xf32>
}

// CHECK-LABEL: @adjacent_slices
func.func @adjacent_slices(%x: tensor<6x8xf32>, %y: tensor<6x1xf32>) -> (tensor<6x8xf32>, tensor<3x7xf32>, tensor<6x4xf32>) {
  %a = dataflow.slice %x starts [0, 0] sizes [6, 3] steps [1, 1] : (tensor<6x8xf32>) -> tensor<6x3xf32>
  %b = dataflow.slice %x starts [0, 3] sizes [6, 1] steps [1, 1] : (tensor<6x8xf32>) -> tensor<6x1xf32>
  %c = dataflow.slice %x starts [0, 4] sizes [6, 4] steps [1, 1] : (tensor<6x8xf32>) -> tensor<6x4xf32>
  // All of a value: the value.
  %whole = dataflow.concat %a, %b, %c axis 1 : (tensor<6x3xf32>, tensor<6x1xf32>, tensor<6x4xf32>) -> tensor<6x8xf32>
  // Part of it, between other values; every second row, from the last one back.
  // CHECK: [[E:%.+]] = dataflow.slice %x starts [5, 2] sizes [3, 5] steps [-2, 1]
  %d = dataflow.slice %x starts [5, 2] sizes [3, 3] steps [-2, 1] : (tensor<6x8xf32>) -> tensor<3x3xf32>
  %e = dataflow.slice %x starts [5, 5] sizes [3, 2] steps [-2, 1] : (tensor<6x8xf32>) -> tensor<3x2xf32>
  %f = dataflow.slice %x starts [4, 6] sizes [3, 1] steps [-2, 1] : (tensor<6x8xf32>) -> tensor<3x1xf32>
  %g = dataflow.slice %y starts [0, 0] sizes [3, 1] steps [2, 1] : (tensor<6x1xf32>) -> tensor<3x1xf32>
  // CHECK: dataflow.concat [[E]], {{%.+}}, {{%.+}} axis 1 : (tensor<3x5xf32>, tensor<3x1xf32>, tensor<3x1xf32>)
  %part = dataflow.concat %d, %e, %f, %g axis 1 : (tensor<3x3xf32>, tensor<3x2xf32>, tensor<3x1xf32>, tensor<3x1xf32>) -> tensor<3x7xf32>
  // Slices with gaps, and not in order, stay.
  // CHECK: dataflow.concat {{%.+}}, {{%.+}} axis 1 : (tensor<6x3xf32>, tensor<6x1xf32>)
  %h = dataflow.slice %x starts [0, 0] sizes [6, 3] steps [1, 2] : (tensor<6x8xf32>) -> tensor<6x3xf32>
  %gap = dataflow.concat %h, %b axis 1 : (tensor<6x3xf32>, tensor<6x1xf32>) -> tensor<6x4xf32>
  // CHECK: func.return %x,
  func.return %whole, %part, %gap : tensor<6x8xf32>, tensor<3x7xf32>, tensor<6x4xf32>
}
