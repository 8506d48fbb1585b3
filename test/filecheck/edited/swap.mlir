// A value that is swapped out by hand, between the operations that need it: the controller copies it to the host, and
// back, beside the launches.

// RUN: meshloom-opt %s -p 'memory-insert-offload{chip=tiny},manycore-autotune' | filecheck %s --check-prefix TASKS
// RUN: meshloom-opt %s -p 'memory-insert-offload{chip=tiny},manycore-autotune,manycore-to-memory,memory-to-coreasm' \
// RUN:   | filecheck %s --check-prefix COREASM
// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s --check-prefix VALUES
// RUN: meshloom-opt %s -t 'emulate{inputs=iota chip=tiny}' | filecheck %s --check-prefix VALUES

// TASKS:      %a = manycore.subgraph
// TASKS:        manycore.task @a
// TASKS:      memory.swap_out %a
// TASKS:      %b = manycore.subgraph
// TASKS:      memory.swap_in

// The input goes in, then %a goes out and comes back, then the result goes out.
// COREASM:      ctl.h2d
// COREASM:      ctl.launch launch(0)
// COREASM:      ctl.d2h
// COREASM:      ctl.launch launch(1)
// COREASM:      ctl.h2d
// COREASM:      ctl.launch launch(2)
// COREASM:      ctl.d2h

// iota is -3 to 3, then -3: y = max(x, 0) + x.
// VALUES: y: tensor<8xf32> = [-3., -2., -1.,  0.,  2.,  4.,  6., -3.]
func.func @main(%x: tensor<8xf32> {dataflow.name = "x"}) -> (tensor<8xf32> {dataflow.name = "y"}) {
  %a = dataflow.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  %k, %out = memory.swap_out %a : tensor<8xf32> to !memory.stash<tensor<8xf32>, host>
  %b = dataflow.neg %x : (tensor<8xf32>) -> tensor<8xf32>
  %back, %in = memory.swap_in %k after(%out) : !memory.stash<tensor<8xf32>, host> to tensor<8xf32>
  %y = dataflow.sub %back, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}
