"""What a shrinker of 18-3 must do, and how many runs it may play."""

from collections.abc import Callable
from typing import Final, NamedTuple

from kafka_edu.learner.learner import Learner, LearnerObject
from kafka_edu.sim.scenario.shrink import fewest

from ..runner.mismatch import Mismatch, Words

Fails = Callable[[tuple[int, ...]], bool]
FORM: Final = "a list of acts, each once, or None"
TIMES_OURS: Final = 2
MORE: Final = 8


class Shrunk(NamedTuple):
    """The result of a search: the acts that are left, and the runs that were played."""

    acts: tuple[int, ...]
    runs: int


def runs_of_ours(acts: int, fails: Fails) -> Shrunk:
    """Shrink with the course's own shrinker. A run that was played before does not count again."""
    known: dict[tuple[int, ...], bool] = {}

    def once(kept: tuple[int, ...]) -> bool:
        if kept not in known:
            known[kept] = fails(kept)
        return known[kept]

    return Shrunk(fewest(tuple(range(acts)), once, lambda: True), len(known))


def allowed_runs(acts: int, fails: Fails) -> int:
    """Return how many runs a learner's shrinker may play."""
    return TIMES_OURS * runs_of_ours(acts, fails).runs + MORE


def shrink(
    learner: Learner, acts: int, fails: Fails, most_runs: int, *, look: bool = False
) -> Shrunk:
    """Play the runs that the learner's shrinker asks for, and check each answer. Raises Mismatch.

    With `look`, ask for the shortest run after each run too.
    """
    made = learner.make(acts)
    played = {tuple(range(acts)): True}
    drawing: list[str] = []
    for _ in range(most_runs + 1):
        came = made.call("next")
        if came is None:
            break
        kept = _acts_of(came, acts, played, drawing)
        played[kept] = fails(kept)
        result = "fails" if played[kept] else "does not fail"
        drawing = [*drawing[-9:], f"the run with {_words(kept)} {result}"]
        made.call("played", played[kept])
        if look:
            _shortest(made, acts, played, drawing)
    else:
        raise Mismatch(
            f"Shrinker({acts}), next() for the {most_runs + 1:,}th time",
            None,
            came,
            f"ddmin needs at most half of {most_runs:,} runs here: leave out large parts first",
            drawing=tuple(drawing),
            read="next",
        )
    left = _shortest(made, acts, played, drawing)
    for act in left:
        without = tuple(one for one in left if one != act)
        if fails(without):
            raise Mismatch(
                "shortest()",
                Words("a run of which no act can be left out"),
                list(left),
                f"without act {act} it fails too",
                drawing=tuple(drawing),
                read="next",
            )
    return Shrunk(left, len(played) - 1)


def _words(kept: tuple[int, ...]) -> str:
    return ", ".join(map(str, kept)) if kept else "no act"


def _acts_of(
    came: object, acts: int, played: dict[tuple[int, ...], bool], drawing: list[str]
) -> tuple[int, ...]:
    """Return the acts that the learner wants to be played, in order. Raises Mismatch."""
    why = ""
    if not isinstance(came, tuple) or not all(type(one) is int for one in came):
        why = "that is its form"
    elif len(set(came)) < len(came):
        why = "it has an act twice"
    elif not set(came) <= set(range(acts)):
        why = f"the acts are 0 to {acts - 1}"
    elif tuple(sorted(came)) in played:
        why = "this run was played before, so its result is known"
    else:
        return tuple(sorted(came))
    raise Mismatch("next()", Words(FORM), came, why, drawing=tuple(drawing), read="next")


def _shortest(
    made: LearnerObject, acts: int, played: dict[tuple[int, ...], bool], drawing: list[str]
) -> tuple[int, ...]:
    """Return the learner's shortest run. It must have failed. Raises Mismatch."""
    came = made.call("shortest")
    best = min((kept for kept, failed in played.items() if failed), key=len)
    if isinstance(came, tuple) and all(type(one) is int for one in came):
        kept = tuple(sorted(came))
        if played.get(kept) and len(kept) == len(best):
            return kept
        why = "a shorter run has failed" if played.get(kept) else "this run was not seen to fail"
    else:
        why = "it is a list of acts"
    raise Mismatch("shortest()", list(best), came, why, drawing=tuple(drawing), read="shortest")
