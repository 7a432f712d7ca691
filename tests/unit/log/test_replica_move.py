"""The file that marks a move to another log dir, and what it says about a replica's two folders."""

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log_file_names import (
    MOVING_TO_FILE,
    future_dir_name,
    is_too_long_to_move,
    parse_future_dir,
    parse_topic_partition,
)
from kafka_edu.log.replica_move import Folder, mark_move, replaced_folder, unmark_move
from kafka_edu.sim.memory_file_system import MemoryFileSystem

A, B = Folder("/a", "/a/t-0"), Folder("/b", "/b/t-0")


def disk() -> MemoryFileSystem:
    made = MemoryFileSystem()
    for folder in (A, B):
        made.make_dirs(folder.path)
    return made


def test_the_marked_folder_is_the_old_one() -> None:
    files = disk()
    assert replaced_folder(files, (A, B)) is None
    mark_move(files, A.path, B.log_dir)
    assert replaced_folder(files, (A, B)) == replaced_folder(files, (B, A)) == A


def test_a_mark_that_names_another_dir_or_both_dirs_says_nothing() -> None:
    files = disk()
    mark_move(files, A.path, "/c")
    assert replaced_folder(files, (A, B)) is None
    mark_move(files, A.path, "/b")
    mark_move(files, B.path, "/a")
    assert replaced_folder(files, (A, B)) is None
    unmark_move(files, A.path)
    unmark_move(files, A.path)
    assert replaced_folder(files, (A, B)) == B


def test_a_mark_that_cannot_be_read_says_nothing() -> None:
    files = disk()
    files.write_atomically(f"{A.path}/{MOVING_TO_FILE}", b"\xff\xfe")
    assert replaced_folder(files, (A, B)) is None


def test_names_of_the_folders_of_copies() -> None:
    tp = TopicPartition("my-topic", 12)
    name = future_dir_name(tp, 0xAB)
    assert name == "my-topic-12.000000000000000000000000000000ab-future"
    assert parse_future_dir(name) == tp
    assert parse_topic_partition(name) is None
    assert parse_future_dir("my-topic-12") is None
    assert parse_future_dir(name.replace("-future", "-delete")) is None
    assert parse_future_dir("x.ab-future") is None


def test_a_name_that_is_too_long() -> None:
    assert not is_too_long_to_move(TopicPartition("x" * 213, 0))
    assert is_too_long_to_move(TopicPartition("x" * 214, 0))
