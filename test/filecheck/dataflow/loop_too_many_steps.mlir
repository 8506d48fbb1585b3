// RUN: not meshloom-opt %s -p dataflow-unroll-loops 2>&1 | filecheck %s

// Nothing is unrolled whose text would have no end, loops in loops included.
// CHECK: loop_too_many_steps.mlir:6:8: error: {{.*}}the body of a loop runs 1,000,000 times, at most 65,536 are supported
func.func @main(%x: tensor<4xf32> {dataflow.name = "x"}) -> (tensor<4xf32> {dataflow.name = "y"}) {
  %y = dataflow.loop 1000 steps carry(%h = %x : tensor<4xf32>) {
    %next = dataflow.loop 1000 steps carry(%g = %h : tensor<4xf32>) {
      %sum = dataflow.add %g, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      dataflow.yield %sum : tensor<4xf32>
    }
    dataflow.yield %next : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
