// RUN: meshloom-opt %s | meshloom-opt | filecheck %s
// RUN: meshloom-opt %s --print-op-generic | meshloom-opt | filecheck %s
// RUN: meshloom-opt %s | meshloom-opt --print-op-generic | filecheck %s --check-prefix=CHECK-GENERIC

func.func @main(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xi1>) {
  %y, %mask = manycore.subgraph @"stem/1"(%a = %x : tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xi1>)
      in [dram, host] weights in host alone to_fit attributes {note = "x"} {
    %c = dataflow.constant dense<2.0> : tensor<5xf32>
    %0 = dataflow.mul %a, %c : (tensor<3x5xf32>, tensor<5xf32>) -> tensor<3x5xf32>
    %1 = dataflow.isnan %0 : (tensor<3x5xf32>) -> tensor<3x5xi1>
    manycore.yield %0, %1 : tensor<3x5xf32>, tensor<3x5xi1>
  }
  %z = manycore.subgraph @tail(%a = %y : tensor<3x5xf32>) -> tensor<3x5xf32> {
    %t = manycore.task @relu(%b = %a : tensor<3x5xf32>) -> tensor<3x5xf32>
        tiled <grid = [2, 1], cores = [0, 1], steps = [1, 1], order = [0, 1]> {
      %0 = dataflow.relu %b : (tensor<3x5xf32>) -> tensor<3x5xf32>
      manycore.yield %0 : tensor<3x5xf32>
    }
    manycore.yield %t : tensor<3x5xf32>
  }
  func.return %z, %mask : tensor<3x5xf32>, tensor<3x5xi1>
}

// CHECK:       %y, %mask = manycore.subgraph @"stem/1"(%a = %x : tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xi1>) in [dram, host] weights in host alone to_fit attributes {note = "x"} {
// CHECK:         %0 = dataflow.mul %a, %c
// CHECK:         manycore.yield %0, %1 : tensor<3x5xf32>, tensor<3x5xi1>
// CHECK-NEXT:  }
// CHECK-NEXT:  %z = manycore.subgraph @tail(%a = %y : tensor<3x5xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT:    %t = manycore.task @relu(%b = %a : tensor<3x5xf32>)
// CHECK:       func.return %z, %mask

// CHECK-GENERIC: "manycore.subgraph"(%x) <{sym_name = "stem/1", {{.*}}residence = [#memory.space<dram>, #memory.space<host>], weights = #memory.space<host>, alone}> ({
// CHECK-GENERIC: }) {note = "x"} : (tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3x5xi1>)
