// Nodes of an ONNX model have their names as location, or type and first output where they have none; those of the
// model's functions also that of the node that calls them. All operations that a node becomes carry it.
// RUN: python -c "import sys, onnx, onnx.parser; onnx.save(onnx.parser.parse_model(open(sys.argv[1]).read().split('MODEL')[-1]), sys.argv[2])" %s %t.onnx
// RUN: meshloom-opt %t.onnx --print-debuginfo | filecheck %s
// RUN: meshloom-opt %t.onnx -o %t.mlir && cat %t.mlir | filecheck %s
// RUN: meshloom-opt %t.mlir -o %t.again.mlir && diff %t.mlir %t.again.mlir
// RUN: meshloom-opt %t.onnx | filecheck %s --check-prefix=PLAIN

// CHECK:      func.func @main(%x: {{.*}} loc("x")) -> {{.*}} {
// CHECK:        dataflow.relu {{.*}} loc("first node")
// CHECK:        dataflow.tanh {{.*}} loc("Tanh:b")
// CHECK:        dataflow.exp {{.*}} loc(callsite("inner" at "call"))
// CHECK-NEXT:   dataflow.neg {{.*}} loc(callsite("Neg:z" at "call"))
// CHECK-NEXT:   dataflow.constant {{.*}} loc("celu")
// CHECK:        dataflow.exp {{.*}} loc("celu")
// CHECK:        dataflow.add {{.*}} loc("celu")
// CHECK:        func.return {{.*}} loc("network")
// CHECK-NEXT: } loc("network")
// PLAIN-NOT: loc(

// MODEL
< ir_version: 8, opset_import: ["": 18, "own": 1] >
network (float[4] x) => (float[4] y) {
  ["first node"] a = Relu(x)
  b = Tanh(a)
  [call] c = own.both(b)
  [celu] y = Celu<alpha = 2.0>(c)
}
< opset_import: ["": 18], domain: "own" >
both (x) => (z) {
  [inner] y = Exp(x)
  z = Neg(y)
}
