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
  func.return
}

// What is prefetched stays so.
// CHECK-LABEL: @prefetched
// CHECK:       manycore.task @t(%a = %x : tensor<4xf32>) -> tensor<4xf32> tiled <grid = [2], cores = [0, 1], steps = [2], order = [0]> prefetch 3 steps 2 {
func.func @prefetched(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = manycore.task @t(%a = %x : tensor<4xf32>, %b = %x : tensor<4xf32>) -> tensor<4xf32>
      tiled <grid = [2], cores = [0, 1], steps = [2], order = [0]> prefetch 3 steps 2 {
    %1 = dataflow.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    manycore.yield %1 : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}
