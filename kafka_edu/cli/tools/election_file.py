"""--path-to-json-file of the election tools: which partitions are meant."""

from typing import Final, NamedTuple

from kafka_edu.cli.tools.json_files import as_list, as_object, integer_field, parse_object, text_field
from kafka_edu.cli.tools.tool import ToolError
from kafka_edu.common.topic_partition import TopicPartition

_ADMIN_OPERATION: Final = "kafka.admin.AdminOperationException"
EXAMPLE: Final = '{"partitions":\n\t[{"topic": "foo", "partition": 1},\n\t {"topic": "foobar", "partition": 2}]\n}'


class Wording(NamedTuple):
    """What each of the tools says of a file that is none."""

    what: str
    no_partitions: str


PREFERRED_2_0: Final = Wording("Preferred replica election data", "Preferred replica election data is empty")
LEADER_2_8: Final = Wording("Replica election data", 'Replica election data is missing "partitions" field')


def parse_partitions(text: str, wording: Wording) -> list[TopicPartition]:
    """`{"partitions": [{"topic": "web", "partition": 0}]}`, in the file's order. Raises ToolError."""
    document = parse_object(text)
    if document is None:
        raise ToolError(_ADMIN_OPERATION, f"{wording.what} is empty")
    if "partitions" not in document:
        raise ToolError(_ADMIN_OPERATION, wording.no_partitions)
    entries = map(as_object, as_list(document["partitions"]))
    partitions = [TopicPartition(text_field(entry, "topic"), integer_field(entry, "partition")) for entry in entries]
    twice = [tp for number, tp in enumerate(partitions) if tp in partitions[:number]]
    if twice:
        raise ToolError(_ADMIN_OPERATION, f"{wording.what} contains duplicate partitions: {','.join(map(str, dict.fromkeys(twice)))}")
    return partitions
