// -p 'manycore-outline-subgraphs{rule=named names=a,b,c,d,e,f},memory-insert-offload{chip=tiny th-tts=2000}'
func.func @main(%x: tensor<4x32xf32> {dataflow.name = "x"}) -> (tensor<4x32xf32> {dataflow.name = "y"}) {
  %a = dataflow.neg %x : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %b = dataflow.exp %a : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %c = dataflow.abs %b : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %d = dataflow.neg %c : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %e = dataflow.mul %d, %c : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %f = dataflow.tanh %e : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %y = dataflow.sub %f, %a : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  func.return %y : tensor<4x32xf32>
}
