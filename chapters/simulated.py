"""A chapter on a simulated cluster, in virtual time (`kafka-edu chapter 02 --sim`).

The cluster of the chapter is one process: no broker has to be started, and no port is used. A step
is left out if it needs something that a simulated cluster does not have: a job with unmodified
clients, frames on a real socket, or an act that only a real cluster has. A step that needs a name
from such a step is left out too. The script says at the step's place that it is left out. Its load
is started there, because later steps may need it. But a load that ends after some seconds is not
started: nothing waits for its end, so it would still run in the next step.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from kafka_edu.instruments.presenter.script import Script, Step
from kafka_edu.instruments.presenter.twice import names_in_braces
from kafka_edu.sim.scenario.settings import CLUSTER
from kafka_edu.sim.stage.stage import SCENARIO_ACTS

#: Chapter → the names that a step binds to the time which a processor needed. Computing takes no
#: virtual time.
COMPUTED: Final = {"03": frozenset({"took_a"})}
NOTE: Final = (
    "(This cluster is simulated. A command in another terminal does not reach it: use the keys of"
    " the dashboard, or its palette with the key `:`.)"
)
"""This sentence follows a text that contains a command for another terminal."""
RUN: Final = "600min"
"""How long the simulated cluster runs. A learner may read for hours."""


class NotSimulatedError(Exception):
    """The cluster of this chapter cannot be simulated. The text says why."""


class LeftOut(NamedTuple):
    """A step that does not run on a simulated cluster, and why."""

    number: int
    title: str
    why: str


class SimulatedChapter(NamedTuple):
    script: Script
    """The script, with a page of narration instead of each step that is left out."""
    left_out: tuple[LeftOut, ...]
    missing: frozenset[str]
    """The names that these steps would have bound."""


def scenario_text(chapter: str, script: Script) -> str:
    """Return the scenario of the cluster of a chapter, by its id. Raises NotSimulatedError."""
    wish = script.cluster
    if wish.zookeepers is not None and wish.zookeepers > 1:
        raise NotSimulatedError(f"it needs {wish.zookeepers} ZooKeeper servers")
    if wish.broker_props:
        raise NotSimulatedError("its brokers have different settings")
    props = {CLUSTER: "real", **wish.props}
    if wish.api_level is not None:
        props["edu.api.level"] = wish.api_level
    settings = "".join(f" {key}={value}" for key, value in props.items())
    return (
        f"# The cluster of chapter {chapter}, in virtual time.\n"
        f"> cluster brokers={wish.brokers}{settings}\n"
        f"> run {RUN}\n"
        "> settle 1s\n"
    )


def simulated(chapter: str, script: Script, replay: str) -> SimulatedChapter:
    """Return the script of a chapter, by its id, for a simulated cluster. `replay` is the command
    that plays the chapter's recording.
    """
    steps, left_out, missing = list[Step](), list[LeftOut](), dict[str, int]()
    for number, step in enumerate(script.steps, 1):
        why = why_not(step, COMPUTED.get(chapter, frozenset())) or _lacks(step, missing)
        if not why:
            named = f"--cluster chapter-{chapter}" in " ".join(step.say.split())
            steps.append(step._replace(say=f"{step.say.rstrip()} {NOTE}") if named else step)
            continue
        left_out.append(LeftOut(number, step.title, why))
        missing |= {name: number for each in step.expectations for name in each.bind}
        say = (
            f"This step is left out, because a simulated cluster does not have what it needs:"
            f" {why}. The recording of the chapter shows it: {replay}"
        )
        load, stop = step.lasting_load, step.stop_load
        steps.append(Step(step.title, say, load=load, stop_load=stop, line=step.line))
    shown = script._replace(steps=tuple(steps), breaks=())
    return SimulatedChapter(shown, tuple(left_out), frozenset(missing))


def why_not(step: Step, computed: Collection[str] = ()) -> str:
    """Return what a step needs but a simulated cluster does not have; "" if nothing is missing."""
    if step.screen == "wire":
        return "the frames of real sockets"
    if step.job:
        return f"the job '{step.job}', a program of its own"
    for act in step.acts:
        if act.name not in SCENARIO_ACTS:
            return f"the act '{act.name}'"
    if any(name in computed for each in step.expectations for name in each.bind):
        return "the time that a processor needs, and here computing takes no time"
    return ""


def _lacks(step: Step, missing: Mapping[str, int]) -> str:
    lacks = sorted({missing[name] for name in _names(step) if name in missing})
    return f"what step {lacks[0]} would have found" if lacks else ""


def _names(step: Step) -> Iterator[str]:
    """Yield the names that the step uses."""
    texts = [step.say]
    for act in step.acts:
        texts += [value for value in act.values.values() if isinstance(value, str)]
    for each in step.expectations:
        texts += [each.source, each.text]
        texts += [one.value for one in each.where if isinstance(one.value, str)]
        yield each.after
    if step.ask is not None:
        texts += [step.ask.question, step.ask.answer, *step.ask.choices, *step.ask.replies]
        if step.ask.number is not None:
            yield from step.ask.number.right.split("-")
    if step.compare is not None:
        for row in step.compare.rows:
            for number in row.numbers:
                yield from number.right.split("-")
    for text in texts:
        yield from names_in_braces(text)
