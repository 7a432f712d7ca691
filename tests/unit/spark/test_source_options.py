"""The options of the data source are checked at once, and each complaint says what to give."""

import pytest

from kafka_edu.spark.source_options import Bound, SourceOptionError, parse_options

BASE = {"kafka.bootstrap.servers": "127.0.0.1:9092", "subscribe": "web, logs"}


def test_options_are_those_of_sparks_own_connector() -> None:
    options = parse_options(
        {
            **BASE,
            "startingOffsets": '{"web": {"0": 23, "1": -2}}',
            "includeHeaders": "true",
            "maxOffsetsPerTrigger": "100",
            "kafka.client.id": "me",
        }
    )
    assert options.topics == ("logs", "web")
    assert options.assigned is None
    assert options.starting == {"web": {0: 23, 1: -2}}
    assert options.ending is Bound.LATEST
    assert options.include_headers
    assert options.max_offsets_per_trigger == 100
    assert options.consumer == {"client_id": "me"}


def test_names_of_options_do_not_mind_case() -> None:
    assert parse_options(
        {"KAFKA.Bootstrap.Servers": "h:1", "ASSIGN": '{"t": [2, 0]}'}
    ).assigned == {"t": [0, 2]}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"kafka.bootstrap.servers": ""}, "kafka.bootstrap.servers is missing"),
        ({"subscribe": " , "}, "no topic"),
        ({"assign": '{"t": [0]}'}, "give one of the options subscribe"),
        (
            {"startingOffsets": "soon"},
            "startingOffsets is 'soon': it must be earliest, latest, or JSON",
        ),
        ({"endingOffsets": "earliest"}, "endingOffsets cannot be earliest"),
        ({"includeHeaders": "maybe"}, "includeHeaders is 'maybe': it must be true or false"),
        ({"maxOffsetsPerTrigger": "0"}, "a number above 0"),
    ],
)
def test_a_wrong_option_is_named(change: dict[str, str], complaint: str) -> None:
    with pytest.raises(SourceOptionError, match=complaint):
        parse_options({**BASE, **change})
