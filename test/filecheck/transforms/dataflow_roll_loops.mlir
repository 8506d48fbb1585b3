// RUN: meshloom-opt %s --split-input-file -p dataflow-roll-loops,canonicalize | filecheck %s
// RUN: meshloom-opt %s --split-input-file -p dataflow-roll-loops --check-semantics 2>&1 | filecheck %s --check-prefix SAME
// RUN: meshloom-opt %s --split-input-file -p 'dataflow-roll-loops{steps=4}' | filecheck %s --check-prefix FEWER
// RUN: not meshloom-opt %s --split-input-file -p 'dataflow-roll-loops{steps=1}' 2>&1 | filecheck %s --check-prefix ONE

// SAME: check-semantics: dataflow-roll-loops{{.*}} kept all results
// FEWER-NOT: dataflow.loop
// ONE: steps=1: a loop has at least 2 steps

// Three steps that read a row each and what the step before has computed; all of them together are read, and the last.
// CHECK-LABEL: @main
// CHECK-NEXT: [[LAST:%.+]], [[ALL:%.+]] = dataflow.loop 3 steps carry([[H:%.+]] = %h0 : tensor<1x2xf32>) scan([[ROW:%.+]] = %x axis 0 : tensor<3x1x2xf32>) stack(axis 0 : tensor<3x1x2xf32>)
// CHECK-NEXT: [[P:%.+]] = dataflow.matmul [[H]], %w
// CHECK-NEXT: [[S:%.+]] = dataflow.add [[P]], [[ROW]]
// CHECK-NEXT: dataflow.yield [[S]], [[S]]
// CHECK: func.return [[ALL]], [[LAST]]
func.func @main(%x: tensor<3x1x2xf32>, %h0: tensor<1x2xf32>, %w: tensor<2x2xf32>) -> (tensor<3x1x2xf32>, tensor<1x2xf32>) {
  %s0 = dataflow.slice %x starts [0, 0, 0] sizes [1, 1, 2] steps [1, 1, 1] : (tensor<3x1x2xf32>) -> tensor<1x1x2xf32>
  %x0 = dataflow.reshape %s0 : (tensor<1x1x2xf32>) -> tensor<1x2xf32>
  %p0 = dataflow.matmul %h0, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %h1 = dataflow.add %p0, %x0 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %s1 = dataflow.slice %x starts [1, 0, 0] sizes [1, 1, 2] steps [1, 1, 1] : (tensor<3x1x2xf32>) -> tensor<1x1x2xf32>
  %x1 = dataflow.reshape %s1 : (tensor<1x1x2xf32>) -> tensor<1x2xf32>
  %p1 = dataflow.matmul %h1, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %h2 = dataflow.add %p1, %x1 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %s2 = dataflow.slice %x starts [2, 0, 0] sizes [1, 1, 2] steps [1, 1, 1] : (tensor<3x1x2xf32>) -> tensor<1x1x2xf32>
  %x2 = dataflow.reshape %s2 : (tensor<1x1x2xf32>) -> tensor<1x2xf32>
  %p2 = dataflow.matmul %h2, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %h3 = dataflow.add %p2, %x2 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %y0 = dataflow.reshape %h1 : (tensor<1x2xf32>) -> tensor<1x1x2xf32>
  %y1 = dataflow.reshape %h2 : (tensor<1x2xf32>) -> tensor<1x1x2xf32>
  %y2 = dataflow.reshape %h3 : (tensor<1x2xf32>) -> tensor<1x1x2xf32>
  %y = dataflow.concat %y0, %y1, %y2 axis 0 : (tensor<1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>) -> tensor<3x1x2xf32>
  func.return %y, %h3 : tensor<3x1x2xf32>, tensor<1x2xf32>
}

// -----

// Slices from the last to the first of some of the rows, values of their own, and steps that are read one by one.
// CHECK-LABEL: @main
// CHECK-DAG: [[ROWS:%.+]] = dataflow.slice %x starts [3, 0] sizes [3, 2] steps [-1, 1]
// CHECK-DAG: [[OWN:%.+]] = dataflow.concat {{.*}} axis 0 : (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<3x1xf32>
// CHECK: {{%.+}}, [[ALL:%.+]] = dataflow.loop 3 steps carry({{.*}}) scan({{%.+}} = [[ROWS]] axis 0 : tensor<3x2xf32>, {{%.+}} = [[OWN]] axis 0 : tensor<3x1xf32>) stack(axis 0 : tensor<3x1x2xf32>)
// CHECK: dataflow.slice [[ALL]] starts [1, 0, 0] sizes [1, 1, 2]
func.func @main(%x: tensor<5x2xf32>, %h0: tensor<1x2xf32>, %w: tensor<2x2xf32>, %a: tensor<1xf32>, %b: tensor<1xf32>, %c: tensor<1xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>) {
  %x0 = dataflow.slice %x starts [3, 0] sizes [1, 2] steps [1, 1] : (tensor<5x2xf32>) -> tensor<1x2xf32>
  %p0 = dataflow.matmul %h0, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %q0 = dataflow.mul %p0, %a : (tensor<1x2xf32>, tensor<1xf32>) -> tensor<1x2xf32>
  %h1 = dataflow.add %q0, %x0 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %x1 = dataflow.slice %x starts [2, 0] sizes [1, 2] steps [1, 1] : (tensor<5x2xf32>) -> tensor<1x2xf32>
  %p1 = dataflow.matmul %h1, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %q1 = dataflow.mul %p1, %b : (tensor<1x2xf32>, tensor<1xf32>) -> tensor<1x2xf32>
  %h2 = dataflow.add %q1, %x1 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  %x2 = dataflow.slice %x starts [1, 0] sizes [1, 2] steps [1, 1] : (tensor<5x2xf32>) -> tensor<1x2xf32>
  %p2 = dataflow.matmul %h2, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %q2 = dataflow.mul %p2, %c : (tensor<1x2xf32>, tensor<1xf32>) -> tensor<1x2xf32>
  %h3 = dataflow.add %q2, %x2 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
  func.return %h3, %h2 : tensor<1x2xf32>, tensor<1x2xf32>
}

// -----

// Not the same weights; not the step before, but the one before that; rows that are not at equal distances.
// CHECK-LABEL: @main
// CHECK-NOT: dataflow.loop
func.func @main(%x: tensor<1x2xf32>, %g: tensor<1x2xf32>, %w: tensor<2x2xf32>, %v: tensor<2x2xf32>, %r: tensor<9x2xf32>) -> (tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>) {
  %0 = dataflow.matmul %x, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %1 = dataflow.tanh %0 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %2 = dataflow.matmul %1, %v : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %3 = dataflow.exp %2 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %a1 = dataflow.matmul %3, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %a2 = dataflow.matmul %g, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %a3 = dataflow.matmul %a1, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %a4 = dataflow.matmul %a2, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %a5 = dataflow.matmul %a3, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %s0 = dataflow.slice %r starts [0, 0] sizes [1, 2] steps [1, 1] : (tensor<9x2xf32>) -> tensor<1x2xf32>
  %p0 = dataflow.matmul %s0, %v : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %s1 = dataflow.slice %r starts [1, 0] sizes [1, 2] steps [1, 1] : (tensor<9x2xf32>) -> tensor<1x2xf32>
  %p1 = dataflow.matmul %s1, %v : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %s2 = dataflow.slice %r starts [5, 0] sizes [1, 2] steps [1, 1] : (tensor<9x2xf32>) -> tensor<1x2xf32>
  %p2 = dataflow.matmul %s2, %v : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  func.return %a4, %a5, %p0, %p1, %p2 : tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>, tensor<1x2xf32>
}

// -----

// Steps of equal form with other weights are another loop.
// CHECK-LABEL: @main
// CHECK-NEXT: [[FIRST:%.+]] = dataflow.loop 3 steps carry([[H:%.+]] = %h0 : tensor<1x2xf32>)
// CHECK-NEXT: dataflow.matmul [[H]], %w
// CHECK: dataflow.loop 3 steps carry([[G:%.+]] = [[FIRST]] : tensor<1x2xf32>)
// CHECK-NEXT: dataflow.matmul [[G]], %v
func.func @main(%h0: tensor<1x2xf32>, %w: tensor<2x2xf32>, %v: tensor<2x2xf32>) -> tensor<1x2xf32> {
  %vp0 = dataflow.matmul %h0, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %v0 = dataflow.tanh %vp0 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %vp1 = dataflow.matmul %v0, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %v1 = dataflow.tanh %vp1 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %vp2 = dataflow.matmul %v1, %w : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %v2 = dataflow.tanh %vp2 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %up0 = dataflow.matmul %v2, %v : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %u0 = dataflow.tanh %up0 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %up1 = dataflow.matmul %u0, %v : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %u1 = dataflow.tanh %up1 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %up2 = dataflow.matmul %u1, %v : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
  %u2 = dataflow.tanh %up2 : (tensor<1x2xf32>) -> tensor<1x2xf32>
  func.return %u2 : tensor<1x2xf32>
}
