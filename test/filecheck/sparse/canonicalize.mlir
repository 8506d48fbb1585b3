// RUN: meshloom-opt %s -p canonicalize | filecheck %s

// What is decoded and encoded alike is what it was.
// CHECK-LABEL: @same_index
// CHECK-NEXT:    %e = sparse.encode %x
// CHECK-NEXT:    func.return %e
func.func @same_index(%x: tensor<4x8xf32>) -> tensor<4x8xf32, #sparse.index<stride, bits = 3, threshold = 0.1>> {
  %e = sparse.encode %x : tensor<4x8xf32> -> tensor<4x8xf32, #sparse.index<stride, bits = 3, threshold = 0.1>>
  %d = sparse.decode %e : tensor<4x8xf32, #sparse.index<stride, bits = 3, threshold = 0.1>> -> tensor<4x8xf32>
  %f = sparse.encode %d : tensor<4x8xf32> -> tensor<4x8xf32, #sparse.index<stride, bits = 3, threshold = 0.1>>
  func.return %f : tensor<4x8xf32, #sparse.index<stride, bits = 3, threshold = 0.1>>
}

// Another index that leaves out as much or more is made at once.
// CHECK-LABEL: @other_index
// CHECK-NEXT:    %f = sparse.encode %x : tensor<4x8xf32> -> tensor<4x8xf32, #sparse.index<direct, threshold = 0.2>>
// CHECK-NEXT:    func.return %f
func.func @other_index(%x: tensor<4x8xf32>) -> tensor<4x8xf32, #sparse.index<direct, threshold = 0.2>> {
  %e = sparse.encode %x : tensor<4x8xf32> -> tensor<4x8xf32, #sparse.index<stride, bits = 3, threshold = 0.1>>
  %d = sparse.decode %e : tensor<4x8xf32, #sparse.index<stride, bits = 3, threshold = 0.1>> -> tensor<4x8xf32>
  %f = sparse.encode %d : tensor<4x8xf32> -> tensor<4x8xf32, #sparse.index<direct, threshold = 0.2>>
  func.return %f : tensor<4x8xf32, #sparse.index<direct, threshold = 0.2>>
}

// One that leaves out less is not; nor is one of groups, which hold what was made zero before.
// CHECK-LABEL: @finer
// CHECK:         sparse.decode
// CHECK-NEXT:    sparse.encode
func.func @finer(%x: tensor<4x8xf32>) -> tensor<4x8xf32, #sparse.index<direct, threshold = 0.2, group = 2>> {
  %e = sparse.encode %x : tensor<4x8xf32> -> tensor<4x8xf32, #sparse.index<direct, threshold = 0.1>>
  %d = sparse.decode %e : tensor<4x8xf32, #sparse.index<direct, threshold = 0.1>> -> tensor<4x8xf32>
  %f = sparse.encode %d : tensor<4x8xf32> -> tensor<4x8xf32, #sparse.index<direct, threshold = 0.2, group = 2>>
  func.return %f : tensor<4x8xf32, #sparse.index<direct, threshold = 0.2, group = 2>>
}

// Integers come back as they were; of floats, -0 does not.
// CHECK-LABEL: @round_trip
// CHECK-NEXT:    %e = sparse.encode %f
// CHECK-NEXT:    %d = sparse.decode %e
// CHECK-NEXT:    func.return %i, %d
func.func @round_trip(%i: tensor<4xi8>, %f: tensor<4xf32>) -> (tensor<4xi8>, tensor<4xf32>) {
  %a = sparse.encode %i : tensor<4xi8> -> tensor<4xi8, #sparse.index<direct>>
  %b = sparse.decode %a : tensor<4xi8, #sparse.index<direct>> -> tensor<4xi8>
  %e = sparse.encode %f : tensor<4xf32> -> tensor<4xf32, #sparse.index<direct>>
  %d = sparse.decode %e : tensor<4xf32, #sparse.index<direct>> -> tensor<4xf32>
  func.return %b, %d : tensor<4xi8>, tensor<4xf32>
}

// CHECK-LABEL: @connections
// CHECK-NEXT:    %e = sparse.encode %x
// CHECK-NEXT:    %c = sparse.connections %e
// CHECK-NEXT:    func.return %c, %e
func.func @connections(%x: tensor<4xf32>) -> (tensor<4xi1, #sparse.index<direct>>, tensor<4xf32, #sparse.index<direct>>) {
  %e = sparse.encode %x : tensor<4xf32> -> tensor<4xf32, #sparse.index<direct>>
  %c = sparse.connections %e : tensor<4xf32, #sparse.index<direct>> -> tensor<4xi1, #sparse.index<direct>>
  %b = sparse.combine %c, %c : tensor<4xi1, #sparse.index<direct>>, tensor<4xi1, #sparse.index<direct>> -> tensor<4xi1, #sparse.index<direct>>
  %p = sparse.compact %x by %c : tensor<4xf32>, tensor<4xi1, #sparse.index<direct>> -> tensor<4xf32, #sparse.index<direct>>
  func.return %b, %p : tensor<4xi1, #sparse.index<direct>>, tensor<4xf32, #sparse.index<direct>>
}

// CHECK-LABEL: @compute
// CHECK-NEXT:    %y = sparse.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32, #sparse.index<direct, axis = 1>>)
// CHECK-NEXT:    func.return %y
func.func @compute(%x: tensor<2x8xf32>, %w: tensor<8x4xf32, #sparse.index<direct, axis = 1>>) -> tensor<2x4xf32> {
  %d = sparse.decode %w : tensor<8x4xf32, #sparse.index<direct, axis = 1>> -> tensor<8x4xf32>
  %e = sparse.encode %d : tensor<8x4xf32> -> tensor<8x4xf32, #sparse.index<stride, bits = 2, axis = 1>>
  %b = sparse.decode %w : tensor<8x4xf32, #sparse.index<direct, axis = 1>> -> tensor<8x4xf32>
  %z = sparse.matmul %x, %e : (tensor<2x8xf32>, tensor<8x4xf32, #sparse.index<stride, bits = 2, axis = 1>>) -> tensor<2x4xf32>
  %s = sparse.encode %x : tensor<2x8xf32> -> tensor<2x8xf32, #sparse.index<direct>>
  %y = sparse.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32, #sparse.index<direct, axis = 1>>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// CHECK-LABEL: @compute_on_decoded
// CHECK-NEXT:    %y = sparse.matmul %a, %w : (tensor<2x8xf32, #sparse.index<direct>>, tensor<8x4xf32, #sparse.index<direct, axis = 1>>)
// CHECK-NEXT:    func.return %y
func.func @compute_on_decoded(%a: tensor<2x8xf32, #sparse.index<direct>>, %w: tensor<8x4xf32, #sparse.index<direct, axis = 1>>) -> tensor<2x4xf32> {
  %d = sparse.decode %a : tensor<2x8xf32, #sparse.index<direct>> -> tensor<2x8xf32>
  %y = sparse.matmul %d, %w : (tensor<2x8xf32>, tensor<8x4xf32, #sparse.index<direct, axis = 1>>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// CHECK-LABEL: @prune
// CHECK-NEXT:    %b = sparse.prune_groups %x groups 4 threshold 1.000000e-01 limit 1
// CHECK-NEXT:    func.return %b
func.func @prune(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = sparse.prune_groups %x groups 4 threshold 0.5 limit 2 : tensor<8xf32>
  %b = sparse.prune_groups %a groups 4 threshold 0.1 limit 1 : tensor<8xf32>
  %c = sparse.prune_groups %b groups 4 threshold 0.1 limit 1 : tensor<8xf32>
  func.return %c : tensor<8xf32>
}
