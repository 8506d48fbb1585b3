// -p 'dataflow-interleave-gates'
func.func @main(%h0: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %r = dataflow.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
  %last = dataflow.loop 3 steps carry(%h = %h0 : tensor<1x2xf32>) {
    %z = dataflow.matmul %h, %r : (tensor<1x2xf32>, tensor<2x4xf32>) -> tensor<1x4xf32>
    %i = dataflow.slice %z starts [0, 0] sizes [1, 2] steps [1, 1] : (tensor<1x4xf32>) -> tensor<1x2xf32>
    %g = dataflow.slice %z starts [0, 2] sizes [1, 2] steps [1, 1] : (tensor<1x4xf32>) -> tensor<1x2xf32>
    %active = dataflow.sigmoid %i : (tensor<1x2xf32>) -> tensor<1x2xf32>
    %new = dataflow.tanh %g : (tensor<1x2xf32>) -> tensor<1x2xf32>
    %next = dataflow.mul %active, %new : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    dataflow.yield %next : tensor<1x2xf32>
  }
  func.return %last : tensor<1x2xf32>
}
