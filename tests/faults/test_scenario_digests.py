"""The facts of the five general scenarios have the digests that are stored in the repository.

The fast tests check the digest of one short run (`tests/unit/sim/scenario/every_fault.sim`).
"""

import pytest

from kafka_edu.cli.sim.playing import play_and_tell, python_version
from kafka_edu.cli.sim.scenario_files import SHIPPED, load, seed_of

pytestmark = pytest.mark.long


@pytest.mark.parametrize("name", SHIPPED)
def test_a_scenario_gives_the_facts_of_its_committed_digest(name: str) -> None:
    scenario = load(name)
    result, _ = play_and_tell(scenario, seed_of(scenario, None), "")
    assert result.violations == ()
    assert result.digest == scenario.digest_for(python_version()), (
        "if the code was changed on purpose: ./kafka-edu sim digests --write"
    )
