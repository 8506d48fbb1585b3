// RUN: meshloom-opt %s -p canonicalize,cse,canonicalize --check-semantics | filecheck %s

// Nothing undoes a plan: equal restorations of one reduction stay two, what runs again is not the same as what ran
// before, and a wait for a token is no identity.
// CHECK-LABEL: @main
// CHECK-NEXT: %y = dataflow.relu %x
// CHECK-NEXT: %s, %st = memory.swap_out %y
// CHECK-NEXT: %k = memory.await %y after(%st)
// CHECK-NEXT: %z = dataflow.neg %k
// CHECK-NEXT: %q = memory.completion %z
// CHECK-NEXT: %b, %bt = memory.swap_in %s after(%q)
// CHECK-NEXT: %0 = dataflow.add %z, %b
// CHECK-NEXT: %c, %ct = memory.swap_in %s after(%q)
// CHECK-NEXT: %1 = dataflow.mul %0, %c
// CHECK-NEXT: %r, %rt = memory.recompute(%x) after(%q)
// CHECK-NEXT: ^bb0(%a: tensor<4xf32>):
// CHECK-NEXT:   %{{.*}} = dataflow.relu %a
// CHECK-NEXT:   memory.yield
// CHECK-NEXT: }
// CHECK-NEXT: dataflow.sub %1, %r
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = dataflow.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %s, %st = memory.swap_out %y : tensor<4xf32> to !memory.stash<tensor<4xf32>, host>
  %k = memory.await %y after(%st) : tensor<4xf32>
  %z = dataflow.neg %k : (tensor<4xf32>) -> tensor<4xf32>
  %q = memory.completion %z : tensor<4xf32>
  %b, %bt = memory.swap_in %s after(%q) : !memory.stash<tensor<4xf32>, host> to tensor<4xf32>
  %0 = dataflow.add %z, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %c, %ct = memory.swap_in %s after(%q) : !memory.stash<tensor<4xf32>, host> to tensor<4xf32>
  %1 = dataflow.mul %0, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %r, %rt = memory.recompute(%x) after(%q) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %2 = dataflow.relu %a : (tensor<4xf32>) -> tensor<4xf32>
    memory.yield %2 : tensor<4xf32>
  }
  %3 = dataflow.sub %1, %r : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %3 : tensor<4xf32>
}
