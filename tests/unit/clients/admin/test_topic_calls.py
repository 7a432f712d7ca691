"""If the caller gives no number of replicas, a new topic has three replicas, or fewer in a smaller
cluster.
"""

import pytest

from kafka_edu.clients.admin.topic_calls import usual_replicas
from kafka_edu.clients.load.load import replicas_of_new_topic
from kafka_edu.sim.scenario.language import parse


@pytest.mark.parametrize(("brokers", "replicas"), [(1, 1), (2, 2), (3, 3), (4, 3), (9, 3)])
def test_the_topics_of_a_load_and_of_a_scenario_have_the_usual_replicas(
    brokers: int, replicas: int
) -> None:
    scenario = parse(f"> cluster brokers={brokers}\n> topic t\n> run 1s\n> settle 1s\n", "small")
    assert usual_replicas(brokers) == replicas
    assert scenario.topics[0].replication_factor == replicas
    assert replicas_of_new_topic(brokers)[0] == replicas


def test_a_write_to_the_topic_of_a_load_needs_two_replicas_if_there_are_three() -> None:
    assert replicas_of_new_topic(2)[1] == {}
    assert replicas_of_new_topic(3)[1] == {"min.insync.replicas": "2"}
