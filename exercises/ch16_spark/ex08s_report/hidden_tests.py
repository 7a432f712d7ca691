"""Hidden tests of exercise 16-8s: only `kafka-edu lab grade 16-8s` runs them."""

from random import Random

from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.trace.event import Source

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


def test_odd_names(report: Report) -> None:
    """similar names of partitions, a title with quotes, and an ISR in a different order"""
    made = Incident().leads(0, "web", 1, [0, 1, 2]).leads(1, "web-1", 0, [1, 0, 2])
    made.leads(2, "web", 10, [2, 0, 1]).after(10)
    made.act("pause", Source.of_broker(2), 'pause "broker 2" \\ 暂停, {x}').after(5)
    made.isr("web-1", 0, [1, 0]).after(7).leads(1, "web", 1, [2, 1, 0]).after(4)
    made.isr("web", 10, [2, 1]).after(3).isr("web-1", 0, [0, 2, 1]).after(3)
    made.leads(1, "web", 10, [1, 2]).after(9).isr("web", 10, [2, 1, 0]).after(2)
    made.isr("web-1", 0, [1, 2])
    report.agrees(made, "the title is a text of JSON, and web-1-0 and web-10 are not web-1")
