// -p 'coreasm-pack'
module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.unpacked_program @worker descs [#coreasm.access<[16], [4]>] {
    coreasm.load f32 [0x0, d0], dram[0x0, d0] signal(vpu)
    coreasm.relu f32 [0x0, d0], [0x0, d0] wait(load) signal(store)
    coreasm.store f32 dram[0x40, d0], [0x0, d0] wait(vpu)
    coreasm.halt
  }
}
