"""Choose some of many slow test cases at random. The hash of the commit is the seed. So each commit
runs different cases, and a run of the same commit can be repeated.

KAFKA_EDU_ALL=1 runs all cases.
"""

import os
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import TypeVar

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[1]


def drawn(cases: Sequence[T], most: int) -> list[T]:
    """Return that many of the cases, in their order."""
    if os.environ.get("KAFKA_EDU_ALL") or len(cases) <= most:
        return list(cases)
    chosen = set(Random(commit()).sample(range(len(cases)), most))
    return [case for number, case in enumerate(cases) if number in chosen]


def is_chosen(name: str) -> bool:
    """Return whether this commit runs the test `name`, which has the mark `rotated`."""
    return bool(os.environ.get("KAFKA_EDU_ALL")) or Random(commit() + name).random() < 0.5


@cache
def commit() -> str:
    """Return the commit of this checkout, or an empty text where there is none."""
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()
