// RUN: meshloom-opt %s | meshloom-opt | filecheck %s
// RUN: meshloom-opt %s --print-op-generic | meshloom-opt | filecheck %s

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: tensor<3x8xf32>, %w: tensor<8x5xf32>, %b: tensor<5xf32>) -> (tensor<3x5xf32>, tensor<3x5xi1>) {
    %y, %mask = manycore.task @"dense/1"(%p = %x : tensor<3x8xf32>, %q = %w : tensor<8x5xf32>, %r = %b : tensor<5xf32>)
        -> (tensor<3x5xf32>, tensor<3x5xi1>) in sram
        tiled <grid = [2, 2, 1], cores = [0, 1, 2, 3], steps = [2, 1, 3], order = [2, 0, 1]> attributes {note = "x"} {
      %0 = dataflow.matmul %p, %q : (tensor<3x8xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
      %1 = dataflow.add %0, %r : (tensor<3x5xf32>, tensor<5xf32>) -> tensor<3x5xf32>
      %2 = dataflow.isnan %1 : (tensor<3x5xf32>) -> tensor<3x5xi1>
      manycore.yield %1, %2 : tensor<3x5xf32>, tensor<3x5xi1>
    }
    %z = manycore.task @first(%p = %y : tensor<3x5xf32>) -> tensor<3x5xf32>
        in dram tiled <grid = [1, 2], cores = [0, 1], steps = [1, 1], order = [0, 1], multiples = [1, 1]> prefetch 0 {
      %0 = dataflow.neg %p : (tensor<3x5xf32>) -> tensor<3x5xf32>
      manycore.yield %0 : tensor<3x5xf32>
    }
    %u = manycore.task @second(%p = %z : tensor<3x5xf32>) -> tensor<3x5xf32>
        tiled <grid = [1, 1], cores = [0], steps = [1, 5], order = [0, 1], multiples = [3, 1]> prefetch 2 steps 3 attributes {note = "y"} {
      %0 = dataflow.neg %p : (tensor<3x5xf32>) -> tensor<3x5xf32>
      manycore.yield %0 : tensor<3x5xf32>
    }
    func.return %u, %mask : tensor<3x5xf32>, tensor<3x5xi1>
  }
}

// CHECK:      builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
// CHECK:        %y, %mask = manycore.task @"dense/1"(%p = %x : tensor<3x8xf32>, %q = %w : tensor<8x5xf32>, %r = %b : tensor<5xf32>) -> (tensor<3x5xf32>, tensor<3x5xi1>) in sram tiled <grid = [2, 2, 1], cores = [0, 1, 2, 3], steps = [2, 1, 3], order = [2, 0, 1]> attributes {note = "x"} {
// CHECK-NEXT:     %0 = dataflow.matmul %p, %q : (tensor<3x8xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT:     %1 = dataflow.add %0, %r : (tensor<3x5xf32>, tensor<5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT:     %2 = dataflow.isnan %1 : (tensor<3x5xf32>) -> tensor<3x5xi1>
// CHECK-NEXT:     manycore.yield %1, %2 : tensor<3x5xf32>, tensor<3x5xi1>
// CHECK:        %z = manycore.task @first(%p = %y : tensor<3x5xf32>) -> tensor<3x5xf32> in dram tiled <grid = [1, 2], cores = [0, 1], steps = [1, 1], order = [0, 1]> prefetch 0 {
// CHECK:        %u = manycore.task @second(%p = %z : tensor<3x5xf32>) -> tensor<3x5xf32> tiled <grid = [1, 1], cores = [0], steps = [1, 5], order = [0, 1], multiples = [3, 1]> prefetch 2 steps 3 attributes {note = "y"} {
