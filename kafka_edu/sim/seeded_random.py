"""A generator of random numbers that gives the same numbers on every version of Python.

Of `random.Random`, Python promises only that `random()` stays the same. `choice`, `sample` and
`shuffle` have changed between versions. A seed in a link or in a test must give the same run for
years, so the class `SeededRandom` computes all of these itself.
"""

import hashlib
import random
from collections.abc import MutableSequence, Sequence
from typing import Any, Final, TypeVar

T = TypeVar("T")

_MASK: Final = (1 << 64) - 1
_DOUBLE: Final = 1.0 / (1 << 53)


class SeededRandom(random.Random):
    """SplitMix64 (Steele, Lea, Flood 2014). The seed is a text, so each part of a simulation can
    have a separate generator: `SeededRandom(f"{seed}/network")`.

    Only the methods that this class defines are used. A method that only `random.Random` defines
    raises NotImplementedError if it needs `getrandbits`. It must be written in this class before it
    is used.
    """

    def __new__(cls, text: str) -> "SeededRandom":
        return super().__new__(cls)

    def __init__(self, text: str) -> None:
        self.text = text
        self._state = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
        self.gauss_next = None

    def seed(self, a: object = None, version: int = 2) -> None:
        raise NotImplementedError("a SeededRandom has the seed with which it was made")

    def getstate(self) -> tuple[Any, ...]:
        return (self._state,)

    def setstate(self, state: tuple[Any, ...]) -> None:
        (self._state,) = state

    def _next(self) -> int:
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def random(self) -> float:
        # The same as `(self._next() >> 11) * _DOUBLE`, without the call of `_next`. A simulated
        # second needs two thousand random numbers.
        self._state = z = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return ((z ^ (z >> 31)) >> 11) * _DOUBLE

    def getrandbits(self, k: int, /) -> int:
        bits = count = 0
        while count < k:
            bits |= self._next() << count
            count += 64
        return bits & ((1 << k) - 1)

    def randbytes(self, n: int) -> bytes:
        return self.getrandbits(8 * n).to_bytes(n, "big")

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        numbers = range(start) if stop is None else range(start, stop, step)
        if not numbers:
            raise ValueError(f"no number to choose from: {numbers}")
        return numbers[self._next() % len(numbers)]

    def randint(self, a: int, b: int) -> int:
        return self.randrange(a, b + 1)

    def uniform(self, a: float, b: float) -> float:
        return a + (b - a) * self.random()

    def choice(self, seq: Sequence[T]) -> T:  # type: ignore[override]  # a sequence is enough
        return seq[self.randrange(len(seq))]

    def shuffle(self, x: MutableSequence[Any]) -> None:
        for last in range(len(x) - 1, 0, -1):
            other = self.randrange(last + 1)
            x[last], x[other] = x[other], x[last]

    def sample(self, population: Sequence[T], k: int) -> list[T]:  # type: ignore[override]  # without `counts`
        if not 0 <= k <= len(population):
            raise ValueError(f"cannot take {k} of {len(population)}")
        rest = list(population)
        return [rest.pop(self.randrange(len(rest))) for _ in range(k)]

    def choices(self, *args: object, **named: object) -> list[Any]:
        raise NotImplementedError("choices() is not the same on every version: write it here first")
