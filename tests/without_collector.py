"""Show that objects leave the memory by themselves, not only when the garbage collector runs."""

import contextlib
import gc
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Run the block without the garbage collector. In it, a weak reference to an object that was
    left behind in a cycle stays alive.
    """
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def left_in_cycles(run: Callable[[], object], kind: type) -> list[object]:
    """Return the objects of `kind` that `run` has left to the garbage collector. This also finds
    objects that cannot have weak references, such as the system's errors.
    """
    with without_collector():
        run()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            gc.collect()
            return [one for one in gc.garbage if isinstance(one, kind)]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
