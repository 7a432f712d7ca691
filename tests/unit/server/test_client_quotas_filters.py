"""The answer to a meaningless DescribeClientQuotas filter is a sentence in plain words, without
Python's names.
"""

import pytest

from kafka_edu.server.admin.client_quotas import MatchType, QuotaFilter, _unmatched


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (
            QuotaFilter("user", MatchType.EXACT, None),
            (
                "the filter of user asks for an exact name and has none: name one, or ask for the"
                " default or for any"
            ),
        ),
        (
            QuotaFilter("user", 7, "a"),
            "the filter of user has the match type 7; there are 0 (exact), 1 (default), 2 (any)",
        ),
    ],
)
def test_it_is_said_in_words(wanted: QuotaFilter, says: str) -> None:
    assert _unmatched(wanted) == says
