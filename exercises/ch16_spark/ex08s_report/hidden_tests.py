"""Hidden tests of exercise 16-8s: only `kafka-edu lab grade 16-8s` runs them."""

from random import Random

from kafka_edu.protocol.api_keys import ApiKey

from ..incidents_made import Incident, made_incident
from .public_tests import Report, report, web

__all__ = ["report"]


def test_percentiles(report: Report) -> None:
    """the p50 and p99 of 1 to 201 requests"""
    made, apis = web(Incident()), (ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.METADATA, ApiKey.HEARTBEAT)
    for api, count in zip(apis, (1, 2, 100, 201), strict=True):
        made.requests(api, range(1_000, 1_000 + count))
    report.agrees(made, "the smallest time that at least 99 % of the times do not exceed")


def test_long_evening(report: Report, seed: int) -> None:
    """a long random evening"""
    report.agrees(made_incident(Random(f"long/{seed}").randrange(10**6), acts=25))
