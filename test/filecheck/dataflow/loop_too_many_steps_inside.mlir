// RUN: not meshloom-compile %s --chip tiny -o %t.mlx 2>&1 | filecheck %s

// The outer loop could stay a loop, but the inner one is unrolled.
// CHECK: loop_too_many_steps_inside.mlir:7:13: error: {{.*}}the body of a loop runs 100,000 times, at most 65,536 are supported
func.func @main(%x: tensor<4xf32> {dataflow.name = "x"}) -> (tensor<4xf32> {dataflow.name = "y"}) {
  %y = dataflow.loop 1000 steps carry(%h = %x : tensor<4xf32>) {
    %next = dataflow.loop 100000 steps carry(%g = %h : tensor<4xf32>) {
      %sum = dataflow.add %g, %g : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      dataflow.yield %sum : tensor<4xf32>
    }
    dataflow.yield %next : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
