"""The text of a partition is parsed strictly, and a refusal says why."""

import pytest

from kafka_edu.common.topic_partition import TopicPartition, TopicPartitionError


@pytest.mark.parametrize("name", ["web-0", "my-topic-12", "__consumer_offsets-49", "-0-3"])
def test_the_text_of_a_partition_is_parsed_back(name: str) -> None:
    assert str(TopicPartition.parse(name)) == name


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("web", "it has no '-'"),
        ("", "it has no '-'"),
        ("-0", "no topic is before its last '-'"),
        ("web-", "no partition number is after its last '-'"),
        ("web-x", "no partition number is after its last '-'"),
        ("web-²", "no partition number is after its last '-'"),
        ("web-٣", "no partition number is after its last '-'"),
        ("web- 1", "no partition number is after its last '-'"),
        ("web-0.1", "no partition number is after its last '-'"),
    ],
)
def test_another_text_is_refused_with_the_reason_and_with_what_to_write(
    text: str, why: str
) -> None:
    with pytest.raises(TopicPartitionError) as refused:
        TopicPartition.parse(text)
    assert str(refused.value) == (f"'{text}' is not a partition, because {why}: write one as web-0")
