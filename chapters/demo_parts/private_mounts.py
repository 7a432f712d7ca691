"""Mounts that only this process and its children see: small and read-only disks (Linux).

They disappear when these processes end. A root process gets a mount namespace of its own. Any other
user first gets a user namespace, in which mounting is allowed without being root. Nothing is left
on the machine afterwards, not even after kill -9. Some systems do not allow this (a container
without CAP_SYS_ADMIN, user namespaces switched off, any system but Linux). `PrivateMounts.refused`
then gives the reason.

Root can read and write every file, whatever its mode is. `enter` removes this privilege
(CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH) from all processes that are started later. So `chmod 000`
also stops their brokers.
"""

import ctypes
import os
import sys
from pathlib import Path
from typing import Final, NamedTuple

_CLONE_NEWNS: Final = 0x00020000
_CLONE_NEWUSER: Final = 0x10000000
_MS_RDONLY: Final = 1
_MS_REMOUNT: Final = 32
_MS_BIND: Final = 4096
_MS_REC: Final = 0x4000
_MS_PRIVATE: Final = 0x40000
_MNT_DETACH: Final = 2
_PR_CAPBSET_DROP: Final = 24
_CAP_DAC_OVERRIDE: Final = 1
_CAP_DAC_READ_SEARCH: Final = 2


class PrivateMounts(NamedTuple):
    """The mounts this process may make. `refused` is the reason why it may not, or empty."""

    refused: str
    modes_bind: bool
    """Whether a file's mode also restricts the processes that are started from now on."""

    def small_disk(self, folder: Path, size_bytes: int) -> None:
        """Mount an empty disk in memory, `size_bytes` large, on an existing folder.

        Raises OSError if mounting fails.
        """
        _call("mount", b"tmpfs", os.fsencode(folder), b"tmpfs", 0, f"size={size_bytes}".encode())

    def read_only(self, folder: Path) -> None:
        """Make a folder read-only for all programs that open its files by name.

        A file that is already open for writing stays writable. Raises OSError if mounting fails.
        """
        name = os.fsencode(folder)
        _call("mount", name, name, None, _MS_BIND, None)
        _call("mount", None, name, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY, None)

    def unmount(self, folder: Path) -> None:
        """Remove the last mount on a folder. Open files stay usable.

        Raises OSError if it fails.
        """
        _call("umount2", os.fsencode(folder), _MNT_DETACH)


def enter() -> PrivateMounts:
    """Give this process a mount namespace. Call it before the process starts a thread."""
    if sys.platform != "linux":
        return PrivateMounts("private mounts need Linux", os.geteuid() != 0)
    modes_bind = _heed_modes()
    user, group = os.geteuid(), os.getegid()
    try:
        _call("unshare", _CLONE_NEWNS | (_CLONE_NEWUSER if user else 0))
        if user:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
        _call("mount", b"none", b"/", None, _MS_REC | _MS_PRIVATE, None)
    except OSError as error:
        return PrivateMounts(f"this system does not let us mount ({error.strerror})", modes_bind)
    return PrivateMounts("", modes_bind)


def _heed_modes() -> bool:
    if os.geteuid():
        return True
    try:
        for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
            _call("prctl", _PR_CAPBSET_DROP, capability, 0, 0, 0)
    except OSError:
        return False
    return True


def _call(name: str, *arguments: bytes | int | None) -> None:
    """Call a function of the C library that returns -1 for an error. Raises OSError on an error."""
    function = ctypes.CDLL(None, use_errno=True)[name]
    if function(*(ctypes.c_ulong(a) if isinstance(a, int) else a for a in arguments)) == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
