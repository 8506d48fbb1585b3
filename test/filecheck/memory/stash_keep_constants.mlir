// Equal constants of which one is swapped out stay two: operations that read the other one would read what has left. Those
// that stay, %e and %f, become one.
// RUN: meshloom-opt %s -p cse --check-semantics | filecheck %s
// RUN: meshloom-opt %s -p canonicalize,cse --check-semantics | filecheck %s
// RUN: meshloom-opt %s -t interpret | filecheck %s --check-prefix RUNS

// CHECK:      %c = dataflow.constant
// CHECK-NEXT: %d = dataflow.constant
// CHECK-NEXT: %e = dataflow.constant
// CHECK-NOT:  dataflow.constant
// CHECK:      %s, %st = memory.swap_out %c
// CHECK-NEXT: %t, %tt = memory.swap_out %d
// RUNS: result0: tensor<4xf32> = [4., 4., 4., 4.]
func.func @main() -> tensor<4xf32> {
  %c = dataflow.constant dense<1.0> : tensor<4xf32>
  %d = dataflow.constant dense<1.0> : tensor<4xf32>
  %e = dataflow.constant dense<1.0> : tensor<4xf32>
  %f = dataflow.constant dense<1.0> : tensor<4xf32>
  %s, %st = memory.swap_out %c : tensor<4xf32> to !memory.stash<tensor<4xf32>, host>
  %t, %tt = memory.swap_out %d : tensor<4xf32> to !memory.stash<tensor<4xf32>, host>
  %a, %at = memory.swap_in %s after(%st) : !memory.stash<tensor<4xf32>, host> to tensor<4xf32>
  %b, %bt = memory.swap_in %t after(%tt) : !memory.stash<tensor<4xf32>, host> to tensor<4xf32>
  %0 = dataflow.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = dataflow.add %0, %e : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = dataflow.add %1, %f : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}
