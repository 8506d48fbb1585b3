// Chains are chosen for a chip: values of 2 x 72 x 512 floats, 288 KiB, do not fit in the 256 KiB of SRAM that 'tiny' has.
// RUN: meshloom-opt %s -p 'dataflow-cascade{chip=tiny}' --check-semantics | filecheck %s
// RUN: meshloom-opt %s -p 'dataflow-cascade{chip=edge}' | filecheck %s --check-prefix FITS
// RUN: not meshloom-opt %s -p 'dataflow-cascade' 2>&1 | filecheck %s --check-prefix CHIP

// CHECK:      dataflow.slice %x starts [0, 0, 0, 0]
// CHECK-NEXT: dataflow.reduce_window
// CHECK-NEXT: dataflow.exp
// CHECK:      dataflow.slice %x starts [0, 0,
// CHECK-NEXT: dataflow.reduce_window
// CHECK:      dataflow.concat
// CHECK-NEXT: return

// FITS-NOT: dataflow.slice

// CHIP: error: {{.*}}dataflow-cascade{chip=NAME}
func.func @main(%x: tensor<1x2x72x512xf32>) -> tensor<1x2x72x512xf32> {
  %a = dataflow.reduce_window max %x window [1, 1, 3, 1] strides [1, 1, 1, 1] dilations [1, 1, 1, 1] pad [0, 0, 1, 0] to [0, 0, 1, 0] : (tensor<1x2x72x512xf32>) -> tensor<1x2x72x512xf32>
  %b = dataflow.exp %a : (tensor<1x2x72x512xf32>) -> tensor<1x2x72x512xf32>
  %c = dataflow.reduce_window max %b window [1, 1, 3, 1] strides [1, 1, 1, 1] dilations [1, 1, 1, 1] pad [0, 0, 1, 0] to [0, 0, 1, 0] : (tensor<1x2x72x512xf32>) -> tensor<1x2x72x512xf32>
  %d = dataflow.tanh %c : (tensor<1x2x72x512xf32>) -> tensor<1x2x72x512xf32>
  %y = dataflow.reduce_window max %d window [1, 1, 3, 1] strides [1, 1, 1, 1] dilations [1, 1, 1, 1] pad [0, 0, 1, 0] to [0, 0, 1, 0] : (tensor<1x2x72x512xf32>) -> tensor<1x2x72x512xf32>
  func.return %y : tensor<1x2x72x512xf32>
}
