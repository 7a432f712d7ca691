import pytest

from kafka_edu.coordinator.coordinator_type import java_hash, partition_for


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 0),
        ("a", 97),
        ("test", 3556498),
        ("console-consumer-12345", 158455506),
        ("ä€", 15432),
        ("😀", 1772899),
        ("polygenelubricants", -(2**31)),
    ],
)
def test_the_hash_is_javas(text: str, code: int) -> None:
    assert java_hash(text) == code


def test_the_lowest_hash_has_no_absolute_value_and_counts_as_0() -> None:
    assert partition_for("polygenelubricants", 50) == 0
    assert partition_for("test", 50) == 48
    assert partition_for("a", 1) == 0
