"""Runs of three brokers with a planted bug, which 18-2 and 18-3 play in the simulator."""

from collections.abc import Sequence
from typing import Final

from kafka_edu.sim.planted_faults import planted
from kafka_edu.sim.scenario.acts import Act
from kafka_edu.sim.scenario.language import Scenario, parse
from kafka_edu.sim.scenario.scenario_run import ScenarioResult, ScenarioRun
from kafka_edu.sim.sim_cluster import silent_brokers

SCENARIO: Final = """\
> cluster brokers=3 min.insync.replicas=2
> topic t partitions=3 rf=3
> producer p topic=t rate=40
> seed {seed}
> at 300ms slow-link 3 2 by 50ms for 300ms
> at 500ms cut 1 2 for 1.2s
> at 550ms pause 3 for 200ms
> at 600ms cut 1 3 for 1.2s
> at 700ms slow-disk 2 by 40ms for 300ms
> at 900ms clock-jump 2 by 3s
> at 1s kill 1 for 1s
> at 1.3s reset-clients
> at 1.5s pause-client 1 for 200ms
> at 1.6s slow-link 2 1 by 20ms for 200ms
> run 2s
> settle 3s
"""


def scenario(seed: int) -> Scenario:
    """Return the run with all its acts."""
    return parse(SCENARIO.format(seed=seed), "lab-18")


def play(run: Scenario, acts: Sequence[Act], plant: str = "") -> ScenarioResult:
    """Play the run with some of its acts, and with a planted bug if `plant` names one."""
    assert run.seed is not None
    with silent_brokers(), planted(plant):
        return ScenarioRun(run._replace(acts=tuple(acts)), run.seed).play()
