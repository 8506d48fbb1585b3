// RUN: meshloom-opt %s -p 'manycore-schedule{chip=tiny}' --check-semantics | filecheck %s
// RUN: meshloom-opt %s -p 'manycore-schedule{chip=tiny method=program}' | filecheck %s --check-prefix=PROGRAM
// RUN: meshloom-opt %s -p 'manycore-schedule{chip=tiny method=segments}' | filecheck %s
// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=named names=s},manycore-schedule{chip=tiny}' | filecheck %s
// RUN: not meshloom-opt %s -p 'manycore-schedule{chip=tiny method=best}' 2>&1 | filecheck %s --check-prefix=METHOD
// RUN: not meshloom-opt %s -p manycore-schedule 2>&1 | filecheck %s --check-prefix=NOCHIP

// METHOD: error: pass 'manycore-schedule': unknown method 'best': choose one of program, random, anneal, mcts, exhaustive, default, segments
// NOCHIP: error: {{.*}}no chip is given: use manycore-schedule{chip=NAME}, or module attribute manycore.chip

// Matrix unit: @mm1 and @mm2; vector unit: the others. In the program's order @tanh1 keeps the vector unit waiting for
// @mm1, and with it @tanh2 and @mm2. The other way round both units have work from the start. The reshape goes along with
// its reader.

// PROGRAM:      manycore.task @mm1
// PROGRAM:      manycore.task @tanh1
// PROGRAM:      manycore.task @tanh2
// PROGRAM:      manycore.task @mm2
// PROGRAM:      manycore.task @sum

// CHECK:      builtin.module attributes {manycore.chip = #manycore.chip<"tiny">}
// CHECK-NOT:  @tanh1
// CHECK:      manycore.task @tanh2
// CHECK:      manycore.task @tanh1
// CHECK:      manycore.task @sum
func.func @main(%x: tensor<64x64xf32>, %y: tensor<4096xf32>) -> tensor<64x64xf32> {
  %a = manycore.task @mm1(%p = %x : tensor<64x64xf32>, %q = %x : tensor<64x64xf32>) -> tensor<64x64xf32>
      tiled <grid = [1, 1, 1], cores = [0], steps = [1, 1, 1], order = [0, 1, 2]> {
    %0 = dataflow.matmul %p, %q : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    manycore.yield %0 : tensor<64x64xf32>
  }
  %b = manycore.task @tanh1(%p = %a : tensor<64x64xf32>) -> tensor<64x64xf32>
      tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 1]> {
    %0 = dataflow.tanh %p : (tensor<64x64xf32>) -> tensor<64x64xf32>
    manycore.yield %0 : tensor<64x64xf32>
  }
  %c = manycore.task @tanh2(%p = %y : tensor<4096xf32>) -> tensor<4096xf32>
      tiled <grid = [1], cores = [0], steps = [1], order = [0]> {
    %0 = dataflow.tanh %p : (tensor<4096xf32>) -> tensor<4096xf32>
    manycore.yield %0 : tensor<4096xf32>
  }
  %d = dataflow.reshape %c : (tensor<4096xf32>) -> tensor<64x64xf32>
  %e = manycore.task @mm2(%p = %d : tensor<64x64xf32>, %q = %x : tensor<64x64xf32>) -> tensor<64x64xf32>
      tiled <grid = [1, 1, 1], cores = [0], steps = [1, 1, 1], order = [0, 1, 2]> {
    %0 = dataflow.matmul %p, %q : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    manycore.yield %0 : tensor<64x64xf32>
  }
  %s = manycore.task @sum(%p = %b : tensor<64x64xf32>, %q = %e : tensor<64x64xf32>) -> tensor<64x64xf32>
      tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 1]> {
    %0 = dataflow.add %p, %q : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    manycore.yield %0 : tensor<64x64xf32>
  }
  func.return %s : tensor<64x64xf32>
}
