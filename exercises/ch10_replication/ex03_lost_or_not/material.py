"""The eight cases of exercise 10-3. The broker's own classes decide which records are lost."""

from functools import cache
from itertools import permutations
from random import Random
from typing import Final

from ..loss_rules import BEFORE, FOLLOWERS, LEADER, Case, play

ALL: Final = -1
CASES: Final = 8

QUESTIONS: Final = """\
# 10-3: your cases

Three replicas, broker 0 leads. All have {before} records at the beginning, and these are
acknowledged. Then the records of the table are written. The followers that work fetch
them, and fetch once more. Broker 0 dies. Then it comes back.

| number | acks | min.insync.replicas | unclean | AR | what about the followers | records |
| --- | --- | --- | --- | --- | --- | --- |
{rows}

*Has left the ISR*: before the records were written. *Stands still*: it is in the ISR, but it
fetches no more. It lives, and can be elected.

1. `lost_1` to `lost_8`: how many acknowledged records are lost in the end?
2. `refused`: in which case are the records refused before they are written?
3. `there`: name a case in which records are there in the end that were never acknowledged.
"""


@cache
def cases(seed: int) -> tuple[Case, ...]:
    """Return the eight cases for this seed. Each case has a different kind."""
    random = Random(f"lost/{seed}")
    found = [_case(kind, random) for kind in range(CASES)]
    random.shuffle(found)
    return tuple(found)


def _case(kind: int, random: Random) -> Case:
    """Return a random case of this kind."""
    replicas = (LEADER, *random.choice(list(permutations(FOLLOWERS))))
    first, second = replicas[1:]
    one = random.choice(FOLLOWERS)
    records = random.randint(2, 9)
    both = FOLLOWERS
    match kind:
        case 0:  # acks=1, and no follower gets them
            return Case(1, random.choice((1, 2)), False, replicas, (), both, records)
        case 1:  # acks=1, and the follower that is elected has them
            return Case(1, random.choice((1, 2)), False, replicas, (), (second,), records)
        case 2:  # acks=1, and the follower that is elected lacks them
            return Case(1, random.choice((1, 2)), False, replicas, (), (first,), records)
        case 3:  # acks=all, and a member of the ISR stands still: no record is acknowledged
            unclean = random.random() < 0.5
            return Case(ALL, random.choice((1, 2)), unclean, replicas, (), (second,), records)
        case 4:  # the leader is alone, and somebody is elected who was not in the ISR
            return Case(ALL, 1, True, replicas, both, (), records)
        case 5:  # the leader is alone, and the partition waits for it
            return Case(ALL, 1, False, replicas, both, (), records)
        case 6:  # the leader is alone, and refuses them
            return Case(ALL, 2, random.random() < 0.5, replicas, both, (), records)
        case _:  # two are in the ISR, and have them
            return Case(ALL, 2, random.random() < 0.5, replicas, (one,), (), records)


def row(number: int, case: Case) -> str:
    """Return the case as a row of the learner's table."""
    words = []
    for broker in FOLLOWERS:
        if broker in case.away:
            words.append(f"{broker} has left the ISR")
        elif broker in case.still:
            words.append(f"{broker} stands still")
        else:
            words.append(f"{broker} works")
    acks = "all" if case.acks == ALL else str(case.acks)
    replicas = ", ".join(map(str, case.replicas))
    unclean = "true" if case.unclean else "false"
    return (
        f"| {number} | {acks} | {case.min_isr} | {unclean} | {replicas} | {', '.join(words)} |"
        f" {case.records} |"
    )


def make(seed: int) -> dict[str, str]:
    """Return the learner's file questions.md, as a dict from its name to its text."""
    rows = "\n".join(row(number, case) for number, case in enumerate(cases(seed), 1))
    return {"questions.md": QUESTIONS.format(before=BEFORE, rows=rows)}


def refused(seed: int) -> int:
    """Return the number of the case whose records are refused before they are written."""
    return next(n for n, case in enumerate(cases(seed), 1) if play(case).refused)


def there(seed: int) -> list[int]:
    """Return the numbers of the cases in which records are in the log but were not acknowledged."""
    return [n for n, case in enumerate(cases(seed), 1) if play(case).surprise]
