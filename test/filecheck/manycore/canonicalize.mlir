// RUN: meshloom-opt %s -p canonicalize | filecheck %s

// An operand given twice is given once, an unused one and an unused result go.
// CHECK-LABEL: @operands
// CHECK:       manycore.task @t(%a = %x : tensor<4xf32>) -> tensor<4xf32> in sram tiled <grid = [2], cores = [0, 1], steps = [1], order = [0]> {
// CHECK-NEXT:    %0 = dataflow.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    %1 = dataflow.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    manycore.yield %1 : tensor<4xf32>
func.func @operands(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %s, %e = manycore.task @t(%a = %x : tensor<4xf32>, %b = %x : tensor<4xf32>, %c = %y : tensor<4xf32>)
      -> (tensor<4xf32>, tensor<4xf32>) in sram tiled <grid = [2], cores = [0, 1], steps = [1], order = [0]> {
    %0 = dataflow.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = dataflow.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
    manycore.yield %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
  func.return %e : tensor<4xf32>
}

// CHECK-LABEL: @unused
// CHECK-NEXT:    func.return
func.func @unused(%x: tensor<4xf32>) {
  %0 = manycore.task @t(%a = %x : tensor<4xf32>) -> tensor<4xf32>
      tiled <grid = [2], cores = [0, 1], steps = [1], order = [0]> {
    %1 = dataflow.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    manycore.yield %1 : tensor<4xf32>
  }
  %2 = manycore.exchange %x to <grid = [2], cores = [0, 1], steps = [1], order = [0]> : tensor<4xf32>
  func.return
}

// CHECK-LABEL: @twice
// CHECK-NEXT:    %0 = manycore.exchange %x
// CHECK-NEXT:    func.return %0
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = manycore.exchange %x to <grid = [2], cores = [0, 1], steps = [1], order = [0]> : tensor<4xf32>
  %1 = manycore.exchange %0 to <grid = [2], cores = [0, 1], steps = [1], order = [0]> : tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
