// RUN: meshloom-opt %s | meshloom-opt | filecheck %s
// RUN: meshloom-opt %s --print-op-generic | meshloom-opt | filecheck %s

// CHECK:      %0 = memory.pack %x as "f24" : (tensor<2x5xf32>) -> tensor<2x5x3xui8>
// CHECK-NEXT: %1 = memory.unpack %0 as "f24" : (tensor<2x5x3xui8>) -> tensor<2x5xf32>
func.func @main(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %0 = memory.pack %x as "f24" : (tensor<2x5xf32>) -> tensor<2x5x3xui8>
  %1 = memory.unpack %0 as "f24" : (tensor<2x5x3xui8>) -> tensor<2x5xf32>
  func.return %1 : tensor<2x5xf32>
}
