// RUN: meshloom-opt %s -p dataflow-to-manycore --check-semantics | filecheck %s

// An operation takes the elementwise operations over its result with it; a reshape stays between tasks, a value that is
// read by others ends a task, and an elementwise operation of another shape is a task of its own.

// CHECK:      [[DENSE:%.+]] = manycore.task @dense([[X:%.+]] = %x : tensor<4x8xf32>, [[W:%.+]] = %w : tensor<8x6xf32>, [[B:%.+]] = %b : tensor<6xf32>) -> tensor<4x6xf32> tiled <grid = [1, 1, 1], cores = [0], steps = [1, 1, 1], order = [0, 1, 2]> {
// CHECK-NEXT:   [[M:%.+]] = dataflow.matmul [[X]], [[W]]
// CHECK-NEXT:   [[A:%.+]] = dataflow.add [[M]], [[B]]
// CHECK-NEXT:   manycore.yield [[A]]
// CHECK-NEXT: }
// CHECK-NEXT: manycore.task @neg
// CHECK-NEXT:   dataflow.neg
// CHECK-NEXT:   manycore.yield
// CHECK-NEXT: }
// CHECK-NEXT: manycore.task @exp
// CHECK:      [[R:%.+]] = dataflow.reshape [[DENSE]]
// CHECK-NEXT: manycore.task @tanh({{.+}} = [[R]] : tensor<24xf32>)
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %b: tensor<6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>, tensor<24xf32>) {
  %dense = dataflow.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = dataflow.add %dense, %b : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %2 = dataflow.neg %1 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = dataflow.exp %1 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %4 = dataflow.reshape %1 : (tensor<4x6xf32>) -> tensor<24xf32>
  %5 = dataflow.tanh %4 : (tensor<24xf32>) -> tensor<24xf32>
  func.return %2, %3, %5 : tensor<4x6xf32>, tensor<4x6xf32>, tensor<24xf32>
}
