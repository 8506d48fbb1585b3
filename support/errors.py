"""Errors that a user can act on: the tools print their message and nothing else."""


class MeshloomError(Exception):
    """The work failed; the message names the place and the remedy. Tools exit with status 1."""


class InputError(MeshloomError):
    """Bad usage or bad input (a file, an option, a value). Tools exit with status 2."""
