"""The names of files and folders."""

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log_file_names import (
    delete_dir_name,
    is_delete_dir,
    offset_of,
    parse_topic_partition,
    segment_file,
)


def test_names() -> None:
    assert segment_file("/d/web-0", 368769, ".log") == "/d/web-0/00000000000000368769.log"
    assert offset_of("00000000000000368769.timeindex") == 368769
    assert offset_of("leader-epoch-checkpoint") is None
    assert parse_topic_partition("a-b-3") == ("a-b", 3)
    for folder in (
        "web",
        "-0",
        "web-",
        "web-x",
        "lost+found",
        "web-0.0123456789abcdef0123456789abcdef-delete",
    ):
        assert parse_topic_partition(folder) is None
    name = delete_dir_name(TopicPartition("t" * 249, 0), 7)
    assert len(name) == 255
    assert is_delete_dir(name)
    assert not is_delete_dir("x-delete")
