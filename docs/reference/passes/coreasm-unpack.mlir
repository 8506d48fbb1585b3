// -p 'coreasm-unpack'
module attributes {manycore.chip = #manycore.chip<"tiny">} {
  coreasm.program @worker {
    .desc [16] [4]
    load f32 [0x0, d0], dram[0x0, d0] signal(vpu)
    relu f32 [0x0, d0], [0x0, d0] wait(load) signal(store)
    store f32 dram[0x40, d0], [0x0, d0] wait(vpu)
    halt
  }
}
