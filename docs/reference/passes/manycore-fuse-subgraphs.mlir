// -p 'manycore-fuse-subgraphs{chip=tiny strategy=pairs jobs=1}'
func.func @main(%x: tensor<4x8xf32> {dataflow.name = "x"}) -> (tensor<4x8xf32> {dataflow.name = "y"}) {
  %0 = manycore.subgraph @a(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %w = dataflow.constant dense<0.5> : tensor<8x8xf32>
    %1 = dataflow.matmul %a, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    manycore.yield %1 : tensor<4x8xf32>
  }
  %y = manycore.subgraph @b(%a = %0 : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %1 = dataflow.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    manycore.yield %1 : tensor<4x8xf32>
  }
  func.return %y : tensor<4x8xf32>
}
