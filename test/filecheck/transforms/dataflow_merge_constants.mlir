// Equal constants become one; those of another value, type or shape stay.

// RUN: meshloom-opt %s -p dataflow-merge-constants --check-semantics | filecheck %s

// CHECK-LABEL: func.func @main(
// CHECK-NEXT:    %[[A:.+]] = dataflow.constant dense<2.0
// CHECK-NEXT:    %[[OTHER:.+]] = dataflow.constant dense<3.0
// CHECK-NEXT:    %[[SHAPE:.+]] = dataflow.constant dense<2.0{{.*}} : tensor<1xf32>
// CHECK-NEXT:    %[[FIRST:.+]] = dataflow.mul %x, %[[A]]
// CHECK-NEXT:    %[[SECOND:.+]] = dataflow.mul %[[FIRST]], %[[A]]
// CHECK-NEXT:    dataflow.add %[[SECOND]], %[[OTHER]]
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = dataflow.constant dense<2.0> : tensor<f32>
  %other = dataflow.constant dense<3.0> : tensor<f32>
  %b = dataflow.constant dense<2.0> : tensor<f32>
  %shape = dataflow.constant dense<2.0> : tensor<1xf32>
  %first = dataflow.mul %x, %a : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %second = dataflow.mul %first, %b : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %sum = dataflow.add %second, %other : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %y = dataflow.mul %sum, %shape : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  func.return %sum, %y : tensor<4xf32>, tensor<4xf32>
}
