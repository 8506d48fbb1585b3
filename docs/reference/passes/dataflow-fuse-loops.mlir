// -p 'dataflow-fuse-loops{chip=tiny}'
func.func @main(%x: tensor<64x1x32xf32> {dataflow.name = "x"})
    -> (tensor<1x32xf32> {dataflow.name = "y"}, tensor<1x32xf32> {dataflow.name = "z"}) {
  %h0 = dataflow.constant dense<0.0> : tensor<1x32xf32>
  %w = dataflow.constant dense<0.5> : tensor<32x32xf32>
  %v = dataflow.constant dense<0.25> : tensor<32x32xf32>
  %y = dataflow.loop 64 steps carry(%h = %h0 : tensor<1x32xf32>) scan(%row = %x axis 0 : tensor<64x1x32xf32>) {
    %0 = dataflow.matmul %h, %w : (tensor<1x32xf32>, tensor<32x32xf32>) -> tensor<1x32xf32>
    %1 = dataflow.add %0, %row : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
    dataflow.yield %1 : tensor<1x32xf32>
  }
  %z = dataflow.loop 64 steps carry(%h = %h0 : tensor<1x32xf32>) scan(%row = %x axis 0 backwards : tensor<64x1x32xf32>) {
    %0 = dataflow.matmul %h, %v : (tensor<1x32xf32>, tensor<32x32xf32>) -> tensor<1x32xf32>
    %1 = dataflow.add %0, %row : (tensor<1x32xf32>, tensor<1x32xf32>) -> tensor<1x32xf32>
    dataflow.yield %1 : tensor<1x32xf32>
  }
  func.return %y, %z : tensor<1x32xf32>, tensor<1x32xf32>
}
