// A weight of 16 x 16 with zeros off its diagonal becomes an input of what is stored; the zeros stay where they are.

// RUN: python -c "import numpy as n; n.diag(n.arange(1, 17, dtype='<f4')).tofile(r'%t.bin')"
// RUN: sed 's|FILE|%t.bin|' %s > %t.mlir
// RUN: meshloom-opt %t.mlir -p 'sparse-store-parameters{chip=tiny}' | filecheck %s
// RUN: meshloom-opt %t.mlir -p 'sparse-store-parameters{chip=tiny density=0.05}' | filecheck %s --check-prefix=DENSER

// CHECK:      func.func @main(%x: tensor<4x16xf32> {dataflow.name = "x"}, %w: tensor<16xf32> {dataflow.parameter, dataflow.name = "w"})
// CHECK-NEXT: dataflow.constant dense<0.000000e+00>
// CHECK-NEXT: dataflow.broadcast
// CHECK-NEXT: dataflow.constant dense<[0, 17, 34, 51, 68, 85, 102, 119, 136, 153, 170, 187, 204, 221, 238, 255]>
// CHECK-NEXT: dataflow.scatter add
// CHECK-NEXT: %[[WHOLE:.*]] = dataflow.reshape {{.*}} -> tensor<16x16xf32>
// CHECK-NEXT: dataflow.matmul %x, %[[WHOLE]]

// One weight in sixteen is more than density=0.05.
// DENSER:     func.func @main(%x: tensor<4x16xf32> {dataflow.name = "x"}) ->
// DENSER:     dataflow.weight @w
func.func @main(%x: tensor<4x16xf32> {dataflow.name = "x"}) -> (tensor<4x16xf32> {dataflow.name = "y"}) {
  %w = dataflow.weight @w {source = "FILE", offset = 0 : i64, bytes = 1024 : i64, sha256 = "64aafab1d215dc3f7e72f7ba15f96346f611859ae85ceb29a7308bd3c95c19e8"} : tensor<16x16xf32>
  %y = dataflow.matmul %x, %w : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
  func.return %y : tensor<4x16xf32>
}
