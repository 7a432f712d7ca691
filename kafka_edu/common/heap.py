"""Keep the memory of a process that lives for a long time flat.

Two kinds of free memory stay with a process if nobody asks for them.

Cycles. Python frees an object when the last reference to it goes. Objects that refer to each other
in a cycle wait for the garbage collector, which a broker starts rarely (`GC_THRESHOLDS`). Typical
cycles are an error and the frame that keeps it, and the two halves of a connection. A process grows
while they wait. It stays large afterwards, because Python gives an arena of 1 MiB back only when
nothing in it is in use. docs/soak.md has the figures.

Gaps. Python asks the C library for every object of more than 512 bytes. glibc keeps the gaps
between blocks in use, for later: under a load of ever different sizes the gaps grow for hours,
though the blocks in use do not. `malloc_trim` gives back all whole pages in the gaps (man
malloc_trim).
"""

import ctypes
import gc
import time
from collections.abc import Callable
from typing import Final

LARGE_BLOCK_BYTES: Final = 4 << 20
"""A block of this size gets pages of its own, which go back to the system with the block."""
FREE_TOP_BYTES: Final = 8 << 20
"""The free memory that the C library keeps at the end of its heap."""
#: The numbers of these settings in glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def collect_garbage() -> float:
    """Free all cycles that nothing refers to any more. Return the ms of processor time that the
    search took.

    No other thread of Python runs meanwhile. Call it in the loop's thread, because what is freed
    may belong to the loop. The search takes 0.1 ms for each 1,000 objects that can be in a cycle
    and are not frozen: 6 to 12 ms in a broker of the soak, with 56 partitions, and 53 ms in one
    with 3,000, on two busy cores.
    """
    began_ns = time.thread_time_ns()
    gc.collect()
    return (time.thread_time_ns() - began_ns) / 1_000_000


def heap_trimmer() -> Callable[[], None] | None:
    """Return a function that gives free pages back to the system, or None where the C library has
    none: only glibc has one.

    It takes 0.2 ms for a heap of 14 MB, and about 0.3 ms for each MB that is given back. Other
    threads run meanwhile, until they need memory.
    """
    try:
        malloc_trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return None

    def trim() -> None:
        malloc_trim(0)

    return trim


def keep_large_blocks_apart() -> None:
    """Let each block of `LARGE_BLOCK_BYTES` and more give its memory back as soon as it is freed.

    glibc does that at first. But each such block that is freed raises its limit, up to 32 MiB. Then
    requests of 30 MB lie in the heap, and their memory stays with the process. Setting the limit
    fixes it (man mallopt). This does nothing where the C library has no mallopt.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES)
    mallopt(_M_TRIM_THRESHOLD, FREE_TOP_BYTES)
