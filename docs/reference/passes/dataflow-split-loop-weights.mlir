// -p 'dataflow-split-loop-weights{chip=tiny}'
func.func @main(%x: tensor<3x1x256xf32> {dataflow.name = "x"}) -> (tensor<1x256xf32> {dataflow.name = "y"}) {
  %h0 = dataflow.constant dense<0.0> : tensor<1x256xf32>
  %w = dataflow.constant dense<0.001953125> : tensor<256x256xf32>
  %y = dataflow.loop 3 steps carry(%h = %h0 : tensor<1x256xf32>) scan(%row = %x axis 0 : tensor<3x1x256xf32>) {
    %0 = dataflow.matmul %h, %w : (tensor<1x256xf32>, tensor<256x256xf32>) -> tensor<1x256xf32>
    %1 = dataflow.add %0, %row : (tensor<1x256xf32>, tensor<1x256xf32>) -> tensor<1x256xf32>
    dataflow.yield %1 : tensor<1x256xf32>
  }
  func.return %y : tensor<1x256xf32>
}
