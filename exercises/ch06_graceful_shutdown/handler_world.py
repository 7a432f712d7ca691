"""The world of exercise 06-5: brokers ask for a controlled shutdown, stop, and start again. Events
record which offline partitions the handler's answers do not name.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Final, NamedTuple

TOPIC: Final = "web"
Answer = tuple[tuple[tuple[str, int], ...], tuple[str, ...], tuple[str, ...]]
"""(moved partitions with new leaders, remaining partitions, partitions that go offline)"""


class Row(NamedTuple):
    """A partition with its replicas, its ISR and its leader. The leader is -1 if the partition has
    none.
    """

    name: str
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int

    def argument(self) -> list[object]:
        """Return the partition as a list, in the form that the learner's method gets."""
        return [self.name, list(self.replicas), list(self.isr), self.leader]


LetGo = Callable[[int, Sequence[Row], Sequence[int]], Answer]


class Event(NamedTuple):
    """One event of a run, as a line of text."""

    text: str
    hidden: tuple[str, ...] = ()
    """The partitions that this shutdown took offline although the answer did not name them."""


def right(broker: int, rows: Sequence[Row], live: Sequence[int]) -> Answer:
    """Return the right answer: the partitions that move, that remain, and that go offline."""
    moved, remaining, offline = [], [], []
    for row in rows:
        if row.leader != broker:
            continue
        able = [one for one in row.replicas if one in live and one in row.isr and one != broker]
        if able:
            moved.append((row.name, able[0]))
        else:
            offline.append(row.name)
            if len(row.replicas) > 1:
                remaining.append(row.name)
    return tuple(moved), tuple(remaining), tuple(offline)


class HandlerWorld:
    """A simulated cluster whose brokers stop and start. A broker that stops leaves each ISR, except
    an ISR in which it is alone. Some time after its next start the broker joins the ISRs again.
    """

    def __init__(self, random: Random, brokers: int, partitions: int) -> None:
        self._random = random
        self.live = set(range(brokers))
        self._brokers = brokers
        self.rows = []
        for number in range(partitions):
            count = min(random.choice((1, 2, 2, 3)), brokers)
            replicas = tuple(random.sample(range(brokers), count))
            self.rows.append(Row(f"{TOPIC}-{number}", replicas, replicas, replicas[0]))
        self.events: list[Event] = []

    def let_go(self, broker: int, ask: LetGo) -> None:
        """Ask the handler for a controlled shutdown of the broker, and then stop the broker."""
        answer = ask(broker, tuple(self.rows), sorted(self.live))
        moved, remaining, offline = answer
        before = {row.name: row.leader for row in self.rows}
        leaders = dict(moved)
        self.rows = [
            row._replace(
                leader=leaders.get(row.name, row.leader),
                isr=tuple(one for one in row.isr if one != broker) or row.isr,
            )
            for row in self.rows
        ]
        text = ", ".join(f"{name} to {leader}" for name, leader in moved) or "nothing"
        listed = f"remaining {_listed(remaining)}; offline {_listed(offline)}"
        self.live.discard(broker)
        self.rows = [row._replace(leader=-1) if row.leader == broker else row for row in self.rows]
        dark = [row.name for row in self.rows if row.leader == -1 and before[row.name] == broker]
        hidden = tuple(name for name in dark if name not in (*remaining, *offline))
        self.events.append(Event(f"broker {broker} is let go: moved {text}; {listed}", hidden))
        end = "no partition is without a leader by that"
        if dark:
            end = f"{', '.join(dark)} {'has' if len(dark) == 1 else 'have'} no leader"
        self.events.append(Event(f"broker {broker} stops: {end}"))

    def start(self, broker: int) -> None:
        """Start a broker. It becomes the leader of each partition that has no leader and has this
        broker in its ISR.
        """
        self.live.add(broker)
        self.rows = [
            row._replace(leader=broker) if row.leader == -1 and broker in row.isr else row
            for row in self.rows
        ]
        self.events.append(Event(f"broker {broker} is started"))

    def catch_up(self) -> None:
        """Let some replicas that are not in the ISR join it, at random."""
        rows = []
        for row in self.rows:
            if row.leader != -1:
                back = [one for one in row.replicas if one in self.live and one not in row.isr]
                row = row._replace(
                    isr=(*row.isr, *(one for one in back if self._random.random() < 0.6))
                )
            rows.append(row)
        self.rows = rows

    def go_on(self, ask: LetGo) -> None:
        """Do one random step: start or stop a broker. Then let some replicas join the ISR."""
        dead = sorted(set(range(self._brokers)) - self.live)
        if dead and (len(self.live) < 2 or self._random.random() < 0.5):
            self.start(self._random.choice(dead))
        else:
            self.let_go(self._random.choice(sorted(self.live)), ask)
        self.catch_up()


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
