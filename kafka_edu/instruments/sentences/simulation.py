"""Sentences for the events about clusters in virtual time."""

from kafka_edu.common.words import duration, plural
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.trace.events import simulation


@sentence.register
def simulated_fact(e: simulation.SimulatedFact) -> Sentence:
    return Sentence(f"{e.run}, at virtual {duration(e.at_ms)}: {e.text}")


@sentence.register
def simulation_played(e: simulation.SimulationPlayed) -> Sentence:
    times = f"{duration(e.virtual_ms)} of virtual time in {duration(e.took_ms)}"
    broken = f"; broken: {e.broken}" if e.broken else ""
    return Sentence(
        f"{e.run}, seed {e.seed}:",
        after=f"{times}, {plural(e.facts, 'fact')}, digest {e.digest}{broken}",
    )


@sentence.register
def simulations_compared(e: simulation.SimulationsCompared) -> Sentence:
    if e.same:
        return Sentence(f"{e.what}:", after=f"all {plural(e.facts, 'fact')} are the same")
    after = f"after {plural(e.facts, 'fact')} the runs differ, at virtual {duration(e.at_ms)}"
    exact = f"{e.what}: {after}" + (f": {e.first}" if e.first else "")
    return Sentence(f"{e.what}:", after=after, exact=exact)


@sentence.register
def seeds_explored(e: simulation.SeedsExplored) -> Sentence:
    played = plural(e.seeds, "seed")
    if e.seed < 0 or not e.rule:
        return Sentence(f"{e.scenario}:", after=f"{played} played, and every rule holds")
    return Sentence(
        f"{e.scenario}:",
        after=f"{played} played; seed {e.seed} has {plural(e.acts, 'act')}, and breaks: {e.rule}",
    )


@sentence.register
def simulation_shrunk(e: simulation.SimulationShrunk) -> Sentence:
    return Sentence(
        f"{e.scenario}, seed {e.seed}:",
        after=f"{e.acts_before} acts became {e.acts_after} in {plural(e.runs, 'run')}:"
        f" {e.schedule}",
    )
