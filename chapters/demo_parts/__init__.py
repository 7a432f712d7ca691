"""Parts that several demos share.

The parts are clients that number their records, the comparison of records in the log after a run,
and mounts for small disks.
"""
