// Every kind of bad usage and input is one error and exit status 2.
// RUN: not meshloom-opt %s -p no-such-pass 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not meshloom-opt %s -p 'canonicalize{' 2>&1 | filecheck %s --check-prefix=SPEC
// RUN: not meshloom-opt %s -t 'mlir{' 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not meshloom-opt %t.missing.mlir 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not meshloom-opt %S/errors.txt 2>&1 | filecheck %s --check-prefix=KIND
// RUN: not meshloom-opt %s 2>&1 | filecheck %s --check-prefix=PLACE

// PASS:    error: -p 'no-such-pass': unknown pass 'no-such-pass'; `meshloom-opt --list-passes` names all
// SPEC:    error: -p 'canonicalize{': Expected argument name here
// TARGET:  error: bad -p or -t: Expected argument name here
// MISSING: missing.mlir: no such file
// KIND:    errors.txt: unknown kind of file, expected one of .mlir, .onnx
// PLACE:   errors.mlir:15:1: error: Operation does.not.exist is not registered
does.not.exist
