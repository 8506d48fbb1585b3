// -p 'dataflow-transpose-scans'
func.func @main(%x: tensor<2x8x3xf32> {dataflow.name = "x"}) -> (tensor<2x3xf32> {dataflow.name = "y"}) {
  %h0 = dataflow.constant dense<0.0> : tensor<2x3xf32>
  %y = dataflow.loop 8 steps carry(%h = %h0 : tensor<2x3xf32>) scan(%row = %x axis 1 : tensor<2x8x3xf32>) {
    %0 = dataflow.add %row, %h : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = dataflow.tanh %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
    dataflow.yield %1 : tensor<2x3xf32>
  }
  func.return %y : tensor<2x3xf32>
}
