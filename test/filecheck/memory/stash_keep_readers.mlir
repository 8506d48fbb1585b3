// What is swapped out is read by those that the plan knows, and by nobody else: passes that would have later operations
// read it instead of what is equal to it leave them as they are.
// RUN: meshloom-opt %s -p cse --check-semantics | filecheck %s
// RUN: meshloom-opt %s -p canonicalize --check-semantics | filecheck %s
// RUN: meshloom-opt %s -p dataflow-fold-affine --check-semantics | filecheck %s
// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s --check-prefix RUNS
// RUN: meshloom-opt %s -t 'emulate{chip=tiny inputs=iota}' | filecheck %s --check-prefix RUNS

// CHECK:      %two = dataflow.constant
// CHECK-NEXT: %y = dataflow.relu %x
// CHECK-NEXT: %n = dataflow.neg %y
// CHECK-NEXT: %m = dataflow.neg %n
// CHECK-NEXT: %e = dataflow.mul %y, %two
// CHECK-NEXT: %u, %ut = memory.swap_out %y
// CHECK-NEXT: %f = dataflow.mul %e, %two
// CHECK-NEXT: %z = dataflow.relu %x
// CHECK-NEXT: %sum = dataflow.add %m, %z
// CHECK-NEXT: %yy, %yt = memory.swap_in %u
// CHECK-NEXT: %more = dataflow.add %sum, %yy
// CHECK-NEXT: %all = dataflow.add %more, %f

// Of x = -3, -2, ... 3, -3: 7 max(x, 0).
// RUNS: result0: tensor<8xf32> = [ 0.,  0.,  0.,  0.,  7., 14., 21.,  0.]
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %two = dataflow.constant dense<2.0> : tensor<8xf32>
  %y = dataflow.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  %n = dataflow.neg %y : (tensor<8xf32>) -> tensor<8xf32>
  %m = dataflow.neg %n : (tensor<8xf32>) -> tensor<8xf32>
  %e = dataflow.mul %y, %two : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %u, %ut = memory.swap_out %y : tensor<8xf32> to !memory.stash<tensor<8xf32>, host>
  %f = dataflow.mul %e, %two : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %z = dataflow.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  %sum = dataflow.add %m, %z : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %yy, %yt = memory.swap_in %u after(%ut) : !memory.stash<tensor<8xf32>, host> to tensor<8xf32>
  %more = dataflow.add %sum, %yy : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %all = dataflow.add %more, %f : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %all : tensor<8xf32>
}
