"""Hidden tests of exercise 16-7s: only `kafka-edu lab grade 16-7s` runs them."""

from random import Random

from ..segments_made import Batch, random_batches, written
from .public_tests import Survey, survey

__all__ = ["survey"]
LARGE = 77_000_000_000


def test_several_segments(survey: Survey, seed: int) -> None:
    """a partition of several segments, with large offsets"""
    random = Random(f"segments/{seed}")
    for at in range(4):
        batches = list(random_batches(random, 30))
        survey.logs.put("a-topic-7", 0, written(batches, LARGE + at * 1_000, interval=300))
    survey.agrees("the last entry before an offset is one of its own segment")


def test_no_index(survey: Survey) -> None:
    """segments that are so short that their index is empty"""
    survey.logs.put("short", 0, written([Batch(1)] * 3, 500))
    survey.logs.put("short", 1, written([Batch(marker=True)], 0))
    survey.agrees("without an entry each search begins at 0")


def test_nothing_whole(survey: Survey) -> None:
    """topics with markers only, with one cut batch only, and with an empty segment"""
    survey.logs.put("only.markers", 11, written([Batch(marker=True)] * 5, interval=100))
    survey.logs.put("cut-2", 0, written([Batch()], active=True, cut=200))
    survey.logs.put("cut", 10, written([Batch(codec=3), Batch()], interval=1, active=True, cut=1))
    survey.logs.put("empty", 0, written([], 900))
    survey.agrees("markers have no row in `codecs`, but their segment has one in `segments`")
