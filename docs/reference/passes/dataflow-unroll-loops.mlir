// -p 'dataflow-unroll-loops'
func.func @main(%x: tensor<3x1x8xf32> {dataflow.name = "x"}) -> (tensor<1x8xf32> {dataflow.name = "y"}) {
  %h0 = dataflow.constant dense<0.0> : tensor<1x8xf32>
  %w = dataflow.constant dense<0.5> : tensor<8x8xf32>
  %y = dataflow.loop 3 steps carry(%h = %h0 : tensor<1x8xf32>) scan(%row = %x axis 0 : tensor<3x1x8xf32>) {
    %0 = dataflow.matmul %row, %w : (tensor<1x8xf32>, tensor<8x8xf32>) -> tensor<1x8xf32>
    %1 = dataflow.add %0, %h : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
    dataflow.yield %1 : tensor<1x8xf32>
  }
  func.return %y : tensor<1x8xf32>
}
