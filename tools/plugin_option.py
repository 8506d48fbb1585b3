"""The option `--plugin`, which all tools have."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ..support.plugins import load_plugins


def add_plugin_option(parser: argparse.ArgumentParser) -> None:
    """The option; its values are loaded by `load_named_plugins`."""
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE.py|FOLDER|MODULE",
        help="load a plug-in, which adds passes, operators, chips or methods (may be repeated; see docs/plugins.md)",
    )


def load_named_plugins(arguments: Sequence[str] | None) -> None:
    """
    Load the plug-ins that a command line names, and those that are installed. None: the command line of this process.

    Raises InputError as `load_plugins` does.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    add_plugin_option(parser)
    try:
        known, _ = parser.parse_known_args(sys.argv[1:] if arguments is None else list(arguments))
    except argparse.ArgumentError:
        return  # The tool's own parser reports the error.
    load_plugins(known.plugin)
