"""FileCheck tests: files of IR whose `RUN` lines say what to run and whose `CHECK` lines say what that prints."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from meshloom.support.errors import InputError

_SETTINGS = """\
import lit.formats

config.name = {name!r}
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = {suffixes!r}
config.test_source_root = {source!r}
config.test_exec_root = {scratch!r}
config.environment["PATH"] = {path!r}
config.environment.update({environment!r})
config.substitutions += {substitutions!r}
"""


def run_filecheck(
    file: str | Path, substitutions: Mapping[str, str] | None = None, environment: Mapping[str, str] | None = None
) -> str:
    """
    Run the lines `// RUN: ...` of a file, as lit does, and return lit's report. `%s` is the file, `%S` its folder, `%t`
    a file of the test's own; the tools are those beside the Python that runs this. `substitutions` are further words
    that are replaced, such as `%plugin`; `environment` adds variables.

    Raises AssertionError with the report if a line fails, and if there is no such line or none that checks anything;
    InputError if there is no such file, or lit or filecheck are not installed.
    """
    path = Path(file).resolve()
    if not path.is_file():
        raise InputError(f"{file}: no such file")
    if missing := [name for name in ("lit", "filecheck") if find_spec(name) is None]:
        raise InputError(f"{' and '.join(missing)} are not installed: pip install 'meshloom[testing]'")
    if not any("RUN:" in line and "filecheck" in line for line in path.read_text(encoding="utf-8").splitlines()):
        raise AssertionError(f"{file}: no RUN line runs filecheck: nothing is checked")
    with TemporaryDirectory() as folder:
        settings = _SETTINGS.format(
            name=path.stem,
            suffixes=[path.suffix],
            source=str(path.parent),
            scratch=folder,
            path=os.pathsep.join((str(Path(sys.executable).absolute().parent), os.environ.get("PATH", ""))),
            environment=dict(environment or {}),
            substitutions=list((substitutions or {}).items()),
        )
        (Path(folder) / "lit.cfg").write_text(settings, encoding="utf-8")
        command = [sys.executable, "-c", "import lit.main; lit.main.main()", "-v", str(Path(folder) / path.name)]
        done = subprocess.run(command, capture_output=True, text=True)
    report = done.stdout + done.stderr
    if done.returncode != 0:
        raise AssertionError(report)
    return report
