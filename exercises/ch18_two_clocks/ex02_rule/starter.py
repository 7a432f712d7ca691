"""Exercise 18-2: a rule of the checker. README.md describes the task.
`kafka-edu lab check 18-2` tests your code. `kafka-edu lab hint 18-2` gives a hint.
"""

from collections.abc import Mapping, Sequence


def broken(
    sent: Sequence[tuple[str, str, int]],
    acked: Mapping[str, int],
    log: Sequence[tuple[int, str, int, int]],
) -> list[tuple[str, str]]:
    """Return what is wrong with a partition's log: (fault, record), each once."""
    raise NotImplementedError(
        "broken is not written yet: it returns a list of faults (fault, record)"
    )
