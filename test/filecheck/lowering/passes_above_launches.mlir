// Passes of the compiler's list that come before launches say so of a module that has them already.
// RUN: not meshloom-opt %s -p manycore-autotune 2>&1 | filecheck %s
// RUN: not meshloom-opt %s -p manycore-outline-to-fit 2>&1 | filecheck %s
// RUN: not meshloom-opt %s -p memory-insert-offload 2>&1 | filecheck %s

// CHECK: error: {{.*}}the module already consists of launches: run m{{.*}} before manycore-to-memory
builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main() {
    %run = manycore.launch @all {
    }
    memory.wait %run
    func.return
  }
}
