"""How often Python's garbage collector runs, in a broker and in a simulation of brokers."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

GC_THRESHOLDS: Final = (50_000, 20, 100)
"""The thresholds of Python's garbage collector. By default Python searches for reference cycles
whenever it has created 700 more objects than it has freed.

A broker under load creates and frees thousands of objects for each request. Handling a request
creates no cycles. With the default thresholds, Python would search all live objects again and again
and find nothing. `BrokerProcess._give_back_memory` searches once a minute for the few cycles that
other code creates.
"""


@contextmanager
def few_searches() -> Iterator[None]:
    """Use the thresholds of a broker in this block."""
    before = gc.get_threshold()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
