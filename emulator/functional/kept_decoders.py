"""
A cache of decoders for each executable that exists, so that further runs in the same process need not decode it again.
"""

from __future__ import annotations

import weakref
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b

from ..executable.executable import Executable
from ..machine.memory import Bytes
from .decode import Decoder


@dataclass
class _Kept:
    content: bytes
    """Digest of the data on which the decoders depend, as an executable may be changed."""
    idle: list[Decoder] = field(default_factory=list[Decoder])
    """Decoders that are not in use by a run."""


_kept: dict[int, _Kept] = {}
"""By the `id` of an executable that exists."""


@contextmanager
def decoder_for(exe: Executable, srams: Sequence[Bytes]) -> Generator[Decoder]:
    """Context: a decoder for a run of `exe` with these memories of the cores; after a failed run it is discarded."""
    content = _digest(exe)
    kept = _kept.get(id(exe))
    if kept is None:
        weakref.finalize(exe, _kept.pop, id(exe), None)
    if kept is None or kept.content != content:
        kept = _kept[id(exe)] = _Kept(content)
    try:
        decoder = kept.idle.pop()
    except IndexError:
        decoder = Decoder(exe)
    decoder.begin(srams)
    yield decoder
    decoder.end()
    kept.idle.append(decoder)


def _digest(exe: Executable) -> bytes:
    """Digest of chip, programs, launches and core sets."""
    digest = blake2b(repr(exe.chip).encode(), digest_size=16)
    for program in exe.programs:
        for part in (program.words, program.descs, program.params):
            digest.update(len(part).to_bytes(8, "little"))
            digest.update(part.tobytes())
    for launch in exe.launches:
        digest.update(launch.program_of_core.tobytes())
        for values in launch.params_of_core:
            digest.update(len(values).to_bytes(8, "little"))
            digest.update(values.tobytes())
    digest.update(exe.core_sets.tobytes())
    return digest.digest()
