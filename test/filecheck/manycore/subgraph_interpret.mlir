// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p manycore-inline-subgraphs -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p dataflow-to-manycore -t 'interpret{inputs=iota}' | filecheck %s

// x counts -3 ... 0: x + x is -6 -4 -2 0, and relu(x + x + 3) is 0 0 1 3.
// CHECK:      first: tensor<4xf32> = [-6., -4., -2., {{-?}}0.]
// CHECK-NEXT: second: tensor<4xf32> = [0., 0., 1., 3.]
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32> {dataflow.name = "first"}, tensor<4xf32> {dataflow.name = "second"}) {
  %y = manycore.subgraph @first(%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %0 = dataflow.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    manycore.yield %0 : tensor<4xf32>
  }
  %z = manycore.subgraph @second(%b = %y : tensor<4xf32>) -> tensor<4xf32> {
    %three = dataflow.constant dense<3.0> : tensor<1xf32>
    %0 = dataflow.add %b, %three : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
    %1 = dataflow.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
    manycore.yield %1 : tensor<4xf32>
  }
  func.return %y, %z : tensor<4xf32>, tensor<4xf32>
}
