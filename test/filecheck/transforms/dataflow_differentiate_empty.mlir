// RUN: not meshloom-opt %s -p 'dataflow-differentiate{loss=result optimizer=none}' 2>&1 | filecheck %s

// CHECK: error: pass 'dataflow-differentiate': a value of type tensor<0x4xf32> has no elements: give the network a batch of at least 1
func.func @main(%x: tensor<0x4xf32>, %w: tensor<4x3xf32> {dataflow.parameter}) -> tensor<0x3xf32> {
  %y = dataflow.matmul %x, %w : (tensor<0x4xf32>, tensor<4x3xf32>) -> tensor<0x3xf32>
  func.return %y : tensor<0x3xf32>
}
