// What passes build keeps the location of what it was made for: folding, patterns, tasks, buffers.
// RUN: meshloom-opt %s -p canonicalize --print-debuginfo | filecheck %s
// RUN: meshloom-opt %s -p 'canonicalize,dataflow-to-manycore' --print-debuginfo | filecheck %s --check-prefix=TASK
// RUN: meshloom-opt %s -p 'canonicalize,dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory' --print-debuginfo | filecheck %s --check-prefix=MEMORY
// RUN: meshloom-opt %s -p 'canonicalize,dataflow-split-to-fit{bytes=600}' --print-debuginfo | filecheck %s --check-prefix=SPLIT

// CHECK:      %[[C:.*]] = dataflow.constant dense<5.000000e+00> : tensor<f32> loc("sum of numbers")
// CHECK:      %[[T:.*]] = dataflow.transpose %x [2, 0, 1] : {{.*}} loc("second")
// CHECK-NEXT: %[[R:.*]] = dataflow.add %[[T]], %[[C]] : {{.*}} loc("plus")
// CHECK-NEXT: dataflow.relu %[[R]] : {{.*}} loc("{{.*}}passes.mlir":36:8)

// The task of two operators was made for both.
// TASK:      manycore.task @{{.*}} {
// TASK-NEXT:   dataflow.constant dense<5.000000e+00> : tensor<f32> loc("sum of numbers")
// TASK-NEXT:   dataflow.transpose {{.*}} loc("second")
// TASK-NEXT:   dataflow.add {{.*}} loc("plus")
// TASK-NEXT:   dataflow.relu {{.*}} loc("{{.*}}passes.mlir":36:8)
// TASK-NEXT:   manycore.yield {{.*}} loc(fused["second", "plus", "{{.*}}passes.mlir":36:8])
// TASK-NEXT: } loc(fused["second", "plus", "{{.*}}passes.mlir":36:8])

// MEMORY: memory.alloc {{.*}} loc(fused["second", "plus", "{{.*}}passes.mlir":36:8])
// MEMORY: manycore.execute
// MEMORY: dataflow.constant dense<5.000000e+00> : tensor<f32> loc("sum of numbers")
// MEMORY: } loc(fused["second", "plus", "{{.*}}passes.mlir":36:8])

// SPLIT-COUNT-2: dataflow.transpose {{.*}} loc("second")
// SPLIT:         dataflow.add {{.*}} loc("plus")
// SPLIT:         dataflow.concat {{.*}} loc("{{.*}}passes.mlir":36:8)
func.func @main(%x: tensor<4x8x6xf32>) -> tensor<6x4x8xf32> {
  %a = dataflow.constant dense<2.0> : tensor<f32>
  %b = dataflow.constant dense<3.0> : tensor<f32>
  %c = dataflow.add %a, %b : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("sum of numbers")
  %0 = dataflow.transpose %x [0, 2, 1] : (tensor<4x8x6xf32>) -> tensor<4x6x8xf32> loc("first")
  %1 = dataflow.transpose %0 [1, 0, 2] : (tensor<4x6x8xf32>) -> tensor<6x4x8xf32> loc("second")
  %2 = dataflow.add %1, %c : (tensor<6x4x8xf32>, tensor<f32>) -> tensor<6x4x8xf32> loc("plus")
  %3 = dataflow.relu %2 : (tensor<6x4x8xf32>) -> tensor<6x4x8xf32>
  func.return %3 : tensor<6x4x8xf32>
}
