"""Makes the recording of exercise 16-8: an incident that is made up for one learner."""

from typing import Final, NamedTuple

from ..incident_answers import right_flaps, right_rebalances
from ..incidents_made import Incident, made_incident

_SEEDS: Final = 1_000


class Found(NamedTuple):
    """The right diagnosis of a recording: what the learner has to find in it."""

    act: str
    lasted_us: int
    cause: str


def make(seed: int) -> dict[str, str]:
    """Return a dict with one file: recording.jsonl → its text."""
    return {"recording.jsonl": incident(seed)[0].text()}


def incident(seed: int) -> tuple[Incident, Found]:
    """Return the incident of a seed, and its diagnosis. One flap is the longest. Two or more
    different acts come before flaps, and the rebalances have two or more different causes.
    """
    for number in range(_SEEDS):
        made = made_incident(seed * _SEEDS + number)
        flaps = [flap for flap in right_flaps(made.envelopes) if flap.lasted_us is not None]
        pauses = [one for one in right_rebalances(made.envelopes) if one.lasted_us is not None]
        flaps.sort(key=lambda flap: flap.lasted_us or 0)
        pauses.sort(key=lambda pause: pause.lasted_us or 0)
        if len({flap.act for flap in flaps}) < 2 or len({one.cause for one in pauses}) < 2:
            continue
        if flaps[-1].lasted_us != flaps[-2].lasted_us:
            return made, Found(flaps[-1].act, flaps[-1].lasted_us or 0, pauses[-1].cause)
    raise AssertionError(f"no incident of seed {seed} has one longest flap")
