// RUN: meshloom-opt %s -p 'dataflow-split-widened{chip=tiny}' --check-semantics --split-input-file | filecheck %s

// A matrix that is computed from constants stays as it is where the cores have room for it; what has rows of its own is
// multiplied by itself.
// CHECK-LABEL: @joined
// CHECK:      %[[A:.*]] = dataflow.reshape %{{.*}} -> tensor<4x16xf32>
// CHECK:      %[[B:.*]] = dataflow.cast %{{.*}} -> tensor<4x16xf32>
// CHECK:      %[[X:.*]] = dataflow.slice %x starts [0, 0] sizes [3, 4]
// CHECK-NEXT: %[[C:.*]] = dataflow.matmul %[[X]], %[[A]] : (tensor<3x4xf32>, tensor<4x16xf32>)
// CHECK-NEXT: %[[Y:.*]] = dataflow.slice %x starts [0, 4] sizes [3, 4]
// CHECK-NEXT: %[[D:.*]] = dataflow.matmul %[[Y]], %[[B]]
// CHECK-NEXT: %y = dataflow.add %[[C]], %[[D]]
func.func @joined(%x: tensor<3x8xf32>) -> tensor<3x16xf32> {
  %q = dataflow.constant dense<3> : tensor<2x2x16xi8>
  %r = dataflow.constant dense<4> : tensor<4x16xi8>
  %f = dataflow.cast %q : (tensor<2x2x16xi8>) -> tensor<2x2x16xf32>
  %a = dataflow.reshape %f : (tensor<2x2x16xf32>) -> tensor<4x16xf32>
  %b = dataflow.cast %r : (tensor<4x16xi8>) -> tensor<4x16xf32>
  %w = dataflow.concat %a, %b axis 0 : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
  %y = dataflow.matmul %x, %w : (tensor<3x8xf32>, tensor<8x16xf32>) -> tensor<3x16xf32>
  func.return %y : tensor<3x16xf32>
}

// -----

// A quarter of the memory of `tiny` holds half of this one.
// CHECK-LABEL: @in_parts
// CHECK:      %[[A:.*]] = dataflow.cast %{{.*}} -> tensor<128x128xf32>
// CHECK-NEXT: %[[C:.*]] = dataflow.matmul %x, %[[A]]
// CHECK-NEXT: %[[B:.*]] = dataflow.cast %{{.*}} -> tensor<128x128xf32>
// CHECK-NEXT: %[[D:.*]] = dataflow.matmul %x, %[[B]]
// CHECK-NEXT: %y = dataflow.concat %[[C]], %[[D]] axis 1
func.func @in_parts(%x: tensor<3x128xf32>) -> tensor<3x256xf32> {
  %q = dataflow.constant dense<3> : tensor<128x256xi8>
  %w = dataflow.cast %q : (tensor<128x256xi8>) -> tensor<128x256xf32>
  %y = dataflow.matmul %x, %w : (tensor<3x128xf32>, tensor<128x256xf32>) -> tensor<3x256xf32>
  func.return %y : tensor<3x256xf32>
}

// -----

// Beside x of so many rows there is no room.
// CHECK-LABEL: @computed
// CHECK-NEXT: %w = dataflow.weight @w {source = "mem", {{.*}}} : tensor<128x256xf32>
// CHECK-NEXT: %y = dataflow.matmul %x, %w
func.func @computed(%x: tensor<300x128xf32>) -> tensor<300x256xf32> {
  %q = dataflow.constant dense<3> : tensor<128x256xi8>
  %w = dataflow.cast %q : (tensor<128x256xi8>) -> tensor<128x256xf32>
  %y = dataflow.matmul %x, %w : (tensor<300x128xf32>, tensor<128x256xf32>) -> tensor<300x256xf32>
  func.return %y : tensor<300x256xf32>
}

// -----

// A matrix that something else reads, too, or that depends on an input.
// CHECK-LABEL: @others
// CHECK: dataflow.cast %{{.*}} -> tensor<128x256xf32>
// CHECK: dataflow.matmul %x, %w : (tensor<3x128xf32>, tensor<128x256xf32>)
// CHECK: dataflow.matmul %x, %v : (tensor<3x128xf32>, tensor<128x256xf32>)
func.func @others(%x: tensor<3x128xf32>, %s: tensor<256xf32>)
    -> (tensor<3x256xf32>, tensor<3x256xf32>, tensor<128x256xf32>) {
  %q = dataflow.constant dense<3> : tensor<128x256xi8>
  %w = dataflow.cast %q : (tensor<128x256xi8>) -> tensor<128x256xf32>
  %v = dataflow.mul %w, %s : (tensor<128x256xf32>, tensor<256xf32>) -> tensor<128x256xf32>
  %y = dataflow.matmul %x, %w : (tensor<3x128xf32>, tensor<128x256xf32>) -> tensor<3x256xf32>
  %z = dataflow.matmul %x, %v : (tensor<3x128xf32>, tensor<128x256xf32>) -> tensor<3x256xf32>
  func.return %y, %z, %w : tensor<3x256xf32>, tensor<3x256xf32>, tensor<128x256xf32>
}
