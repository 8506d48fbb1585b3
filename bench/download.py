"""Download of package archives through pip, with pip's configuration (index, proxy, cache)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path


def download(name: str, version: str, source: bool) -> bytes:
    """The wheel (or source archive) of a package, without its dependencies. Exits with pip's message if it fails."""
    # Wheels for one fixed platform, independent of this machine: only data files are extracted.
    wheel = ["--only-binary", ":all:", "--platform", "manylinux_2_28_x86_64", "--python-version", "3.11"]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--no-binary", name] if source else wheel
        done = subprocess.run([*command, "--dest", folder, f"{name}=={version}"], stderr=subprocess.PIPE, text=True)
        files = list(Path(folder).iterdir())
        if done.returncode or len(files) != 1:
            raise SystemExit(f"error: cannot download {name} {version}\n{done.stderr}")
        return files[0].read_bytes()
