"""Brokers that join and leave, and the partitions that the class of exercise 18-4 places."""

from collections.abc import Sequence
from hashlib import sha256
from random import Random
from typing import Final, NamedTuple, Protocol

BROKERS: Final = tuple(f"broker-{number}" for number in range(1, 9))
LEAST: Final = 2
"""The least number of brokers."""

Answer = str | tuple[tuple[str, str], ...] | None


class Placer(Protocol):
    """Places partitions on brokers."""

    def join(self, broker: str) -> None: ...

    def place(self, partition: str) -> str: ...

    def leave(self, broker: str) -> Sequence[tuple[str, str]]: ...


class Name(str):
    """A name whose hash is made from a seed. For one seed, a set of such names has the same order
    on each machine. A different seed gives a different order, as with PYTHONHASHSEED.
    """

    __slots__ = ("_hash",)
    _hash: int

    def __new__(cls, text: str, hash_seed: int) -> "Name":
        """Return the name `text`."""
        made = super().__new__(cls, text)
        made._hash = int.from_bytes(sha256(f"{hash_seed}/{text}".encode()).digest()[:7])
        return made

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other) is True


class Call(NamedTuple):
    """A call of a placer: its method, and the name of a broker or a partition."""

    method: str
    name: str

    def __str__(self) -> str:
        return f'{self.method}("{self.name}")'


class RightPlacer:
    """Places by the rule: fewest partitions first; among equal brokers, the first that joined."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, list[str]]] = []

    def join(self, broker: str) -> None:
        self.rows.append((broker, []))

    def place(self, partition: str) -> str:
        broker, has = sorted(self.rows, key=lambda row: len(row[1]))[0]
        has.append(partition)
        return broker

    def leave(self, broker: str) -> list[tuple[str, str]]:
        [left] = [has for name, has in self.rows if name == broker]
        self.rows = [row for row in self.rows if row[0] != broker]
        return [(one, self.place(one)) for one in left]

    def equal(self, leaving: str = "") -> int:
        """Return how many brokers have the fewest partitions. Broker `leaving` does not count."""
        sizes = [len(has) for name, has in self.rows if name != leaving]
        return sizes.count(min(sizes, default=0))


def answer(placer: Placer, call: Call) -> Answer:
    """Carry out a call, and return its answer."""
    match call.method:
        case "join":
            placer.join(call.name)
            return None
        case "place":
            return placer.place(call.name)
        case _:
            return tuple((partition, broker) for partition, broker in placer.leave(call.name))


def random_calls(random: Random, count: int, partitions: int) -> list[Call]:
    """Return random calls. Not more than `partitions` partitions are placed."""
    away = random.sample(BROKERS, len(BROKERS))
    here = [away.pop() for _ in range(LEAST + 1)]
    calls = [Call("join", one) for one in here]
    placed = 0
    while len(calls) < count:
        match random.randrange(8):
            case 0 if away:
                here.append(away.pop(random.randrange(len(away))))
                calls.append(Call("join", here[-1]))
            case 1 if len(here) > LEAST and placed > LEAST:
                away.append(here.pop(random.randrange(len(here))))
                calls.append(Call("leave", away[-1]))
            case _ if placed < partitions:
                calls.append(Call("place", f"orders-{placed}"))
                placed += 1
            case _:
                break
    return calls
