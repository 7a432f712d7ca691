"""Run one child of the supervisor so that it cannot outlive the supervisor.

`python -m kafka_edu.supervisor.supervised_child SUPERVISOR-PID MODULE ARGUMENT …`. On Linux the
kernel sends SIGKILL to this process when its parent dies (PR_SET_PDEATHSIG). So even after a `kill
-9` of the supervisor no child is left. On other systems a thread checks twice a second whether the
parent is still alive. MODULE runs in this same process, as with `python -m MODULE`. With `--exec
PROGRAM` instead of MODULE, this process becomes another program (Java). On Linux the kernel then
also kills this program when the parent dies.
"""

import ctypes
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from typing import Final, NoReturn

_PR_SET_PDEATHSIG: Final = 1
_LOOK_EVERY_S: Final = 0.5


def die_with_parent(parent: int) -> bool:
    """Make the kernel kill this process when its parent dies.

    Return False if the system cannot do this.

    Ends this process if the parent is dead already.
    """
    promised = False
    if sys.platform == "linux":
        promised = bool(ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0)
    if os.getppid() != parent:
        os._exit(1)
    return promised


def _watch(parent: int, child: "subprocess.Popen[bytes] | None" = None) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY_S)
    if child is not None:
        child.kill()
    os.kill(os.getpid(), signal.SIGKILL)


def become(parent: int, command: list[str]) -> NoReturn:
    """Become another program.

    If the system cannot kill that program together with the supervisor, run it as a child of this
    process instead. This process then passes on signals and ends with the program's exit code.
    """
    if die_with_parent(parent):
        os.execvp(command[0], command)
    child = subprocess.Popen(command)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda signum, _: child.send_signal(signum))
    threading.Thread(target=_watch, args=(parent, child), daemon=True).start()
    code = child.wait()
    os._exit(code if code >= 0 else 128 - code)


def main() -> None:
    parent, first, *arguments = sys.argv[1:]
    if first == "--exec":
        become(int(parent), arguments)
    if not die_with_parent(int(parent)):
        threading.Thread(target=_watch, args=(int(parent),), daemon=True).start()
    sys.argv = [first, *arguments]
    runpy.run_module(first, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
