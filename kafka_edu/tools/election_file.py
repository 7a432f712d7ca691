"""Read the file of --path-to-json-file: the partitions for which to elect a leader."""

from typing import Final, NamedTuple

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.tools.json_files import (
    as_list,
    as_object,
    duplicates,
    parse_object,
    partition_of,
)
from kafka_edu.tools.tool import admin_operation

EXAMPLE: Final = (
    '{"partitions":\n\t[{"topic": "foo", "partition": 1},\n\t {"topic": "foobar", "partition":'
    " 2}]\n}"
)


class Wording(NamedTuple):
    """The texts of a tool's messages about an invalid file."""

    what: str
    no_partitions: str


PREFERRED_2_0: Final = Wording(
    "Preferred replica election data", "Preferred replica election data is empty"
)
LEADER_2_8: Final = Wording(
    "Replica election data", 'Replica election data is missing "partitions" field'
)


def parse_partitions(text: str, wording: Wording) -> list[TopicPartition]:
    """Parse `{"partitions": [{"topic": "web", "partition": 0}]}`. Raises ToolError.

    The partitions stay in the file's order.
    """
    document = parse_object(text)
    if document is None:
        raise admin_operation(f"{wording.what} is empty")
    if "partitions" not in document:
        raise admin_operation(wording.no_partitions)
    partitions = [partition_of(entry) for entry in map(as_object, as_list(document["partitions"]))]
    if twice := duplicates(partitions):
        raise admin_operation(
            f"{wording.what} contains duplicate partitions: {','.join(map(str, twice))}"
        )
    return partitions
