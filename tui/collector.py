"""Python's garbage collector in the dashboard's process."""

import gc
from typing import Final

THRESHOLDS: Final = (50_000, 10, 10)
"""By default Python searches for cycles whenever 700 more objects were created than freed. A frame
creates thousands, and most go without a search. With 10,000 facts a second the default took 17 to
25 % of the dashboard's CPU time, and one collection up to 130 ms. With 10,000 it was 6 to 9 %, with
50,000 it is 3 to 8 %, and a collection takes at most 53 ms.
"""


def settle_collector() -> None:
    """Freeze the objects of the start, because they live until the end, and search less often.

    It holds for the whole process, so commands call it and the application does not.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
