// RUN: meshloom-opt %s -p 'sparse-encode-if-faster{chip=tiny effort=fast}' | filecheck %s

// Gates have one product also where weights may be encoded.
// CHECK: dataflow.loop 9 steps
// CHECK-NEXT: dataflow.matmul {{.*}} : (tensor<1x2xf32>, tensor<2x4xf32>) -> tensor<1x4xf32>
// CHECK-NOT: dataflow.matmul
func.func @main(%h0: tensor<1x2xf32> {dataflow.name = "h0"}) -> (tensor<1x2xf32> {dataflow.name = "h"}) {
  %a = dataflow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = dataflow.constant dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf32>
  %last = dataflow.loop 9 steps carry(%h = %h0 : tensor<1x2xf32>) {
    %0 = dataflow.matmul %h, %a : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
    %1 = dataflow.matmul %h, %b : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
    %2 = dataflow.sigmoid %0 : (tensor<1x2xf32>) -> tensor<1x2xf32>
    %3 = dataflow.tanh %1 : (tensor<1x2xf32>) -> tensor<1x2xf32>
    %4 = dataflow.mul %2, %3 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    dataflow.yield %4 : tensor<1x2xf32>
  }
  func.return %last : tensor<1x2xf32>
}
