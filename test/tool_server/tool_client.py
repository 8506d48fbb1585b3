"""
`tool_client.py SOCKET COMMAND [ARGUMENT ...]`: run a command in the tool server, in place of this process.

The command gets the standard streams, folder and environment of this process, which ends as the command does. Imports
only modules that load quickly, as it is started for every command.
"""

from __future__ import annotations

import _socket
import marshal
import os
import sys

SERVER_ENDED = 70


def main(address: str, *command: str) -> int:
    """The exit status of the command; if a signal ended the command, the same signal ends this process."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.connect(address)
    request = marshal.dumps((command, os.getcwd(), dict(os.environ)))
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
    try:
        connection.sendmsg([len(request).to_bytes(8, "little")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
        connection.sendall(request)
        answer = connection.recv(16)
    except ConnectionError:
        answer = b""
    if not answer:
        print("error: the tool server has ended; if it could not import a module, lit prints why", file=sys.stderr)
        return SERVER_ENDED
    status = int(answer)
    if status < 0:
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
