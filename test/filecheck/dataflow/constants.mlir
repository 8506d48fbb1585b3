// RUN: meshloom-opt %s | meshloom-opt | filecheck %s

// Bits that decimal text would lose (infinities, NaN, negative zero) are printed as bytes, and come back.

%0 = dataflow.constant dense<"0x0000807F0000C07F00000080"> : tensor<3xf32>
%1 = dataflow.constant dense<"0x00000080"> : tensor<64xf32>
%2 = dataflow.constant dense<"0x80FF"> : tensor<bf16>
%3 = dataflow.constant dense<[0.1, 2.5, 1.0e-45]> : tensor<3xf32>
%4 = dataflow.constant dense<0.1> : tensor<f64>
// CHECK:      dataflow.constant dense<"0x0000807F0000C07F00000080"> : tensor<3xf32>
// CHECK-NEXT: dataflow.constant dense<"0x00000080"> : tensor<64xf32>
// CHECK-NEXT: dataflow.constant dense<"0x80FF"> : tensor<bf16>
// CHECK-NEXT: dataflow.constant dense<[1.000000e-01, 2.500000e+00, {{.*}}e-45]> : tensor<3xf32>
// CHECK-NEXT: dataflow.constant dense<1.000000e-01> : tensor<f64>
