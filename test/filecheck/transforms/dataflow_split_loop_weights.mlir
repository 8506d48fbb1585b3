// The weights of @w take 256 KiB. A core of `tiny` has 64 KiB: with 0.92 - 1/16 of it, less two times the 1,024 bytes of
// %h, four cores hold 216,596 bytes, which is 211 rows of 1,024 bytes. Blocks of the matrix unit have 8 rows: 208 stay.
// The 147,456 bytes of %small fit.

// RUN: python -c "import numpy, sys; sys.stdout.buffer.write(((numpy.arange(65536, dtype='<i4') % 7 - 3).astype('<f4') / 64).tobytes())" > %t.bin
// RUN: sed -e "s|FILE|%t.bin|" %s > %t.mlir
// RUN: meshloom-opt %t.mlir -p 'dataflow-split-loop-weights{chip=tiny}' --check-semantics | filecheck %s
// RUN: meshloom-opt %t.mlir -p 'dataflow-split-loop-weights{chip=tiny},dataflow-split-loop-weights{chip=tiny}' | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK-DAG:   %[[LOADED:.*]] = dataflow.weight @w.loaded {{.*}}bytes = 49152 : i64, {{.*}} : tensor<48x256xf32>
// CHECK-DAG:   %[[KEPT:.*]] = dataflow.weight @w.kept {{.*}}bytes = 212992 : i64, {{.*}} : tensor<208x256xf32>
// CHECK:       dataflow.loop 3 steps carry(%h =
// CHECK-NEXT:    %[[REST:.*]] = dataflow.slice %h starts [0, 208] sizes [1, 48]
// CHECK-NEXT:    %[[B:.*]] = dataflow.matmul %[[REST]], %[[LOADED]] :
// CHECK-NEXT:    %[[FIRST:.*]] = dataflow.slice %h starts [0, 0] sizes [1, 208]
// CHECK-NEXT:    %[[A:.*]] = dataflow.matmul %[[FIRST]], %[[KEPT]] :
// CHECK-NEXT:    %[[SUM:.*]] = dataflow.add %[[B]], %[[A]]
// CHECK-NEXT:    dataflow.add %[[SUM]], %row
func.func @main(%x: tensor<3x1x256xf32> {dataflow.name = "x"}) -> (tensor<1x256xf32> {dataflow.name = "y"}) {
  %h0 = dataflow.constant dense<0.0> : tensor<1x256xf32>
  %w = dataflow.weight @w {source = "FILE", offset = 0 : i64, bytes = 262144 : i64, sha256 = "89108ef7eff8a4e981ffc7dcc7509173db2de885ec0b3165089203479c4ecb32"} : tensor<256x256xf32>
  %y = dataflow.loop 3 steps carry(%h = %h0 : tensor<1x256xf32>) scan(%row = %x axis 0 : tensor<3x1x256xf32>) {
    %0 = dataflow.matmul %h, %w : (tensor<1x256xf32>, tensor<256x256xf32>) -> tensor<1x256xf32>
    %1 = dataflow.add %0, %row : (tensor<1x256xf32>, tensor<1x256xf32>) -> tensor<1x256xf32>
    dataflow.yield %1 : tensor<1x256xf32>
  }
  func.return %y : tensor<1x256xf32>
}

// CHECK-LABEL: func.func @fits
// CHECK:       dataflow.loop
// CHECK-NEXT:    dataflow.matmul %h, %small : (tensor<1x192xf32>, tensor<192x192xf32>)
func.func @fits(%x: tensor<3x1x192xf32> {dataflow.name = "x"}) -> (tensor<1x192xf32> {dataflow.name = "y"}) {
  %h0 = dataflow.constant dense<0.0> : tensor<1x192xf32>
  %small = dataflow.constant dense<0.001953125> : tensor<192x192xf32>
  %y = dataflow.loop 3 steps carry(%h = %h0 : tensor<1x192xf32>) scan(%row = %x axis 0 : tensor<3x1x192xf32>) {
    %0 = dataflow.matmul %h, %small : (tensor<1x192xf32>, tensor<192x192xf32>) -> tensor<1x192xf32>
    %1 = dataflow.add %0, %row : (tensor<1x192xf32>, tensor<1x192xf32>) -> tensor<1x192xf32>
    dataflow.yield %1 : tensor<1x192xf32>
  }
  func.return %y : tensor<1x192xf32>
}
