"""Inside the block Python searches for garbage more rarely. After the block the old thresholds hold
again.
"""

import gc

import pytest

from kafka_edu.common.gc_thresholds import GC_THRESHOLDS, few_searches


def test_the_thresholds_hold_in_the_block_alone() -> None:
    before = gc.get_threshold()
    with few_searches():
        assert gc.get_threshold() == GC_THRESHOLDS
    assert gc.get_threshold() == before


def test_the_thresholds_are_as_before_after_an_error() -> None:
    before = gc.get_threshold()
    with pytest.raises(ValueError, match="a bug"), few_searches():
        raise ValueError("a bug")
    assert gc.get_threshold() == before
