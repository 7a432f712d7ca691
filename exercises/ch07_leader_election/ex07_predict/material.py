"""The ten situations of exercise 07-7, and the right answers by the controller's own rule."""

from functools import cache
from random import Random
from typing import Final, NamedTuple

from ..election_rules import Case, in_words, right

NOBODY: Final = -1
OFFLINE, PREFERRED = "OfflinePartition", "PreferredReplica"
REASSIGN, SHUTDOWN = "ReassignPartition", "ControlledShutdown"
BROKERS: Final = 5

QUESTIONS: Final = """\
# 07-7: your situations

Brokers 0 to 4. AR is in its order, the preferred replica first.

| number | what happens | AR | ISR | live | besides |
| --- | --- | --- | --- | --- | --- |
{rows}

1. `leader_1` to `leader_10`: who leads then? -1: nobody, or the leader stays.
2. `lost`: in which situation may acknowledged records be lost?
3. `waits`: name one in which the partition has to wait for its ISR.
"""


class Situation(NamedTuple):
    """One situation: the input of its election, and two texts that describe it to the learner."""

    case: Case
    words: str
    besides: str


@cache
def situations(seed: int) -> tuple[Situation, ...]:
    """Return the ten situations for this seed. In one situation the election is unclean. In two
    situations the partition has to wait. In one situation a preferred election changes nothing.
    """
    random = Random(f"next/{seed}")
    kinds = ["offline"] * 3 + ["unclean"] + ["waits"] * 2 + ["preferred", "stays"]
    kinds += ["reassign", "shutdown"]
    random.shuffle(kinds)
    return tuple(_situation(kind, random) for kind in kinds)


def _situation(kind: str, random: Random) -> Situation:
    """Return a random situation of this kind."""
    while True:
        replicas = tuple(random.sample(range(BROKERS), random.choice((3, 4))))
        isr = tuple(random.sample(replicas, random.randint(1, len(replicas))))
        live = tuple(sorted(random.sample(range(BROKERS), random.randint(2, 4))))
        made = _of(kind, replicas, isr, live, random)
        if made is not None:
            return made


def _of(
    kind: str,
    replicas: tuple[int, ...],
    isr: tuple[int, ...],
    live: tuple[int, ...],
    random: Random,
) -> Situation | None:
    """Return a situation of this kind with these lists, or None if this kind is not possible with
    these lists.
    """
    able = [one for one in replicas if one in live and one in isr]
    match kind:
        case "offline" if able and replicas[0] not in live and able[0] != isr[0]:
            unclean = random.random() < 0.5
            case = Case(OFFLINE, replicas, isr, live, unclean=unclean)
            return Situation(case, f"broker {replicas[0]}, the leader, has died", _allowed(unclean))
        case "unclean" if not able and set(replicas) & set(live):
            case = Case(OFFLINE, replicas, isr, live, unclean=True)
            return Situation(case, "the leader has died", _allowed(True))
        case "waits" if not able and set(replicas) & set(live):
            case = Case(OFFLINE, replicas, isr, live)
            return Situation(case, "the leader has died", _allowed(False))
        case "preferred" if replicas[0] in able and len(able) > 1:
            case = Case(PREFERRED, replicas, isr, live)
            return Situation(case, "a preferred election", f"broker {able[1]} leads")
        case "stays" if able and replicas[0] not in able:
            case = Case(PREFERRED, replicas, isr, live)
            return Situation(case, "a preferred election", f"broker {able[0]} leads")
        case "reassign":
            target = tuple(random.sample(range(BROKERS), 3))
            ready = [one for one in target if one in live and one in isr]
            if ready and ready[0] != target[0] and (not able or ready[0] != able[0]):
                case = Case(REASSIGN, target, isr, live)
                words = f"AR is moved to {in_words(target)}"
                return Situation(case, words, f"it was {in_words(replicas)}")
        case "shutdown" if len(able) > 2:
            case = Case(SHUTDOWN, replicas, isr, live, going=(able[0], able[1]))
            words = f"broker {able[0]}, the leader, is stopped in order"
            return Situation(case, words, f"broker {able[1]} is about to go too")
    return None


def _allowed(unclean: bool) -> str:
    return f"unclean.leader.election.enable={'true' if unclean else 'false'}"


def leader_of(situation: Situation) -> int:
    """Return the id of the next leader. Return -1 if there is no next leader, or if the current
    leader stays.
    """
    elected = right(situation.case)
    return NOBODY if elected is None else elected[0]


def is_lossy(situation: Situation) -> bool:
    """Return whether the next leader is a broker that was not in the ISR."""
    leader = leader_of(situation)
    return leader != NOBODY and leader not in situation.case.isr


def waits(situation: Situation) -> bool:
    """Return whether the partition has no leader now, and does not get a leader either."""
    return situation.case.strategy == OFFLINE and leader_of(situation) == NOBODY


def make(seed: int) -> dict[str, str]:
    """Return the learner's file questions.md, as a dict from its name to its text."""
    rows = [
        f"| {number} | {one.words} | {in_words(one.case.replicas)} | {in_words(one.case.isr)} |"
        f" {in_words(one.case.live)} | {one.besides} |"
        for number, one in enumerate(situations(seed), 1)
    ]
    return {"questions.md": QUESTIONS.format(rows="\n".join(rows))}
