"""Run one child of the supervisor so that it cannot outlive the supervisor.

`python -m kafka_edu.supervisor.supervised_child SUPERVISOR-PID MODULE ARGUMENT …`. On Linux the
kernel sends SIGKILL when the parent dies (PR_SET_PDEATHSIG), so even a `kill -9` of the supervisor
leaves nothing behind. Elsewhere a thread checks twice a second whether the parent is still the
same. Then MODULE runs in this very process, as `python -m MODULE` would. With `--exec PROGRAM` in
place of MODULE this process becomes another program (Java). On Linux the kernel's promise still
holds then.
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
    """Let the kernel kill this process when its parent dies. Return False if the kernel cannot.

    Exits if the parent is dead already.
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

    If the kernel promises nothing, stay next to it, pass on signals, and end as it ends.
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
