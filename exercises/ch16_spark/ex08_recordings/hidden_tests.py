"""Hidden tests of exercise 16-8: only `kafka-edu lab grade 16-8` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner
from kafka_edu.protocol.api_keys import ApiKey

from ..incidents_made import Incident, made_incident
from .public_tests import Checked


def test_long_evening(learner: Learner, seed: int) -> None:
    """the recording of an evening with forty acts"""
    made = made_incident(seed, acts=40)
    one = Checked(learner, made.by_file())
    one.latency("thousands of requests are no other case than ten")
    one.flaps("forty acts are no other case than five")
    one.rebalances("forty acts are no other case than five")


def test_all_percentiles(learner: Learner, seed: int) -> None:
    """percentiles of many different numbers of requests"""
    random = Random(seed)
    made = Incident()
    for number, api in enumerate(ApiKey):
        times = [random.randrange(50, 10**6) for _ in range(3 * number + 1)]
        made.requests(api, times)
    Checked(learner, made.by_file()).latency("each API has its own number of requests")


def test_two_evenings(learner: Learner) -> None:
    """two Incident objects do not share their data"""
    both = [Checked(learner, made_incident(number).by_file()) for number in (1, 2)]
    for one in (*both, *both):
        one.flaps("the report is asked twice, and about another recording in between")
        one.rebalances("the report is asked twice, and about another recording in between")
