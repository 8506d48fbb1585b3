// Operations without a location get the place of their name in the file; arguments of functions, that of the function.
// RUN: meshloom-opt %s --print-debuginfo | filecheck %s
// RUN: meshloom-opt %s --print-debuginfo --print-op-generic | meshloom-opt --print-debuginfo | filecheck %s
// Printed and read again, nothing changes; without the option nothing is printed, neither on the terminal...
// RUN: meshloom-opt %s --print-debuginfo > %t.first.mlir && meshloom-opt %t.first.mlir --print-debuginfo | diff %t.first.mlir -
// RUN: meshloom-opt %s | filecheck %s --check-prefix=PLAIN
// ... nor in a file, unless the text that was read had some.
// RUN: meshloom-opt %s -o %t.named.mlir && cat %t.named.mlir | filecheck %s
// RUN: meshloom-opt %s > %t.none.mlir && meshloom-opt %t.none.mlir -o %t.plain.mlir && cat %t.plain.mlir | filecheck %s --check-prefix=PLAIN

// CHECK:      builtin.module {
// CHECK-NEXT:   func.func @main(%x: tensor<4xf32> loc("{{.*}}text.mlir":21:1), %y: tensor<4xf32> loc("y")) -> tensor<4xf32> {
// CHECK-NEXT:     %0 = dataflow.relu %x : (tensor<4xf32>) -> tensor<4xf32> loc("{{.*}}text.mlir":22:8)
// CHECK-NEXT:     %1 = dataflow.add %0, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("conv/1")
// CHECK-NEXT:     %2 = dataflow.neg %1 : (tensor<4xf32>) -> tensor<4xf32> loc(unknown)
// CHECK-NEXT:     %3 = dataflow.exp %2 : (tensor<4xf32>) -> tensor<4xf32> loc(fused["a", callsite("b" at "other.py":1:2)])
// CHECK-NEXT:     func.return %3 : tensor<4xf32> loc("{{.*}}text.mlir":26:3)
// CHECK-NEXT:   } loc("{{.*}}text.mlir":21:1)
// CHECK-NEXT: } loc("{{.*}}text.mlir":1:1)
// PLAIN-NOT: loc(
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32> loc("y")) -> tensor<4xf32> {
  %0 = dataflow.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dataflow.add %0, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("conv/1")
  %2 = dataflow.neg %1 : (tensor<4xf32>) -> tensor<4xf32> loc(unknown)
  %3 = dataflow.exp %2 : (tensor<4xf32>) -> tensor<4xf32> loc(fused["a", callsite("b" at "other.py":1:2)])
  func.return %3 : tensor<4xf32>
}
