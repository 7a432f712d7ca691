"""reassign-partitions before it contacts a broker: its command line, its files, its texts.

Kafka's texts were taken from 2.0.1 and 2.8.2.
"""

import re
from random import Random

import pytest

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.tools.json_files import duplicates
from kafka_edu.tools.options import NumberError, UsageError
from kafka_edu.tools.reassign_by_brokers import log_dir_words
from kafka_edu.tools.reassign_by_zookeeper import COMPLETED, FAILED, IN_PROGRESS, log_dir_state
from kafka_edu.tools.reassign_partitions import ReassignPartitionsOptions, main
from kafka_edu.tools.reassignment_file import (
    Replica,
    check_proposal,
    parse_brokers,
    parse_proposal,
    parse_topics,
    to_json,
)
from kafka_edu.tools.reassignment_plan import propose, throttled
from kafka_edu.tools.replica_log_dirs import LogDirs
from kafka_edu.tools.tool import ToolError

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
REPLICA = Replica("t", 0, 2)
ZK, BROKERS = "--zookeeper z:1", "--bootstrap-server b:1"
FILE = "--reassignment-json-file f"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (f"{ZK}", "Command must include exactly one action: --generate, --execute or --verify"),
        (
            f"{ZK} --execute --verify",
            "Command must include exactly one action: --generate, --execute or --verify",
        ),
        ("--verify", 'Missing required argument "[zookeeper]"'),
        ("--list", "Please specify --bootstrap-server"),
        (f"{ZK} --list", 'Option "[zookeeper]" can\'t be used with action "[list]"'),
        (
            f"{ZK} {BROKERS} --cancel {FILE}",
            'Option "[zookeeper]" can\'t be used with action "[cancel]"',
        ),
        (
            f"{ZK} --verify",
            (
                "If --verify option is used, command must include --reassignment-json-file that was"
                " used during the --execute option"
            ),
        ),
        (
            f"{ZK} --verify {FILE} --throttle 5",
            'Option "[verify]" can\'t be used with option"[throttle]"',
        ),
        (
            f"{ZK} --generate --broker-list 1",
            (
                "If --generate option is used, command must include both --topics-to-move-json-file"
                " and --broker-list options"
            ),
        ),
        (
            f"{ZK} --execute",
            (
                "If --execute option is used, command must include --reassignment-json-file that"
                " was output during the --generate option"
            ),
        ),
        (
            f"{ZK} --execute {FILE} --disable-rack-aware",
            'Option "[execute]" can\'t be used with option"[disable-rack-aware]"',
        ),
        (
            f"{BROKERS}",
            (
                "Command must include exactly one action: --generate, --execute, --verify,"
                " --cancel, --list"
            ),
        ),
        (
            f"{BROKERS} --list --execute",
            (
                "Command must include exactly one action: --generate, --execute, --verify,"
                " --cancel, --list"
            ),
        ),
        (f"{BROKERS} --cancel", 'Missing required argument "[reassignment-json-file]"'),
        (
            f"{BROKERS} --generate --broker-list 1",
            'Missing required argument "[topics-to-move-json-file]"',
        ),
        (
            f"{BROKERS} --list {FILE}",
            'Option "[reassignment-json-file]" can\'t be used with action "[list]"',
        ),
        (
            f"{BROKERS} --verify {FILE} --throttle 5",
            'Option "[throttle]" can\'t be used with action "[verify]"',
        ),
    ],
)
def test_what_goes_with_what(words: str, text: str) -> None:
    options = ReassignPartitionsOptions()
    with pytest.raises(UsageError) as wrong:
        options.check(options.parser.parse(words.split()))
    assert str(wrong.value) == text


def test_without_words_it_says_what_it_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    assert capsys.readouterr().err.startswith(
        "This command moves topic partitions between replicas.\nOption "
    )


def test_a_proposal_and_its_log_dirs() -> None:
    proposal = parse_proposal(
        '{"partitions":[{"topic":"t","partition":0,"replicas":[2,1],"log_dirs":["/b","any"]},{"topic":"t","partition":1,"replicas":[3]}]}'
    )
    assert proposal.partitions == {T0: (2, 1), T1: (3,)}
    assert proposal.log_dirs == {REPLICA: "/b"}
    assert proposal.topics == ["t"]
    assert str(REPLICA) == "t-0-2"


@pytest.mark.parametrize(
    ("text", "java_class", "message"),
    [
        ("{", "kafka.admin.AdminOperationException", "The input string is not a valid JSON"),
        (
            '{"version":2}',
            "kafka.admin.AdminOperationException",
            "Not supported version field value 2",
        ),
        (
            '{"partitions":[{"topic":"t","partition":"0","replicas":[1]}]}',
            "com.fasterxml.jackson.databind.JsonMappingException",
            'Expected `Int` value, received "0"',
        ),
        (
            '{"partitions":[{"topic":"t","partition":0,"replicas":["1"]}]}',
            "com.fasterxml.jackson.databind.JsonMappingException",
            'Expected `Int` value, received "1"',
        ),
        (
            '{"partitions":[{"topic":"t","partition":0,"replicas":[true]}]}',
            "com.fasterxml.jackson.databind.JsonMappingException",
            "Expected `Int` value, received true",
        ),
        (
            '{"partitions":[{"topic":"t","partition":0,"replicas":[1],"log_dirs":["any","any"]}]}',
            "kafka.common.AdminCommandFailedException",
            (
                "Size of replicas list Vector(1) is different from size of log dirs list"
                " Vector(any, any) for partition t-0"
            ),
        ),
    ],
)
def test_files_that_cannot_be_read(text: str, java_class: str, message: str) -> None:
    with pytest.raises(ToolError) as wrong:
        parse_proposal(text)
    assert (wrong.value.java_class, str(wrong.value)) == (java_class, message)


@pytest.mark.parametrize(
    ("partitions", "message"),
    [
        ([], "nothing to do"),
        ([(0, [])], "Partition replica list cannot be empty"),
        ([(0, [1]), (0, [2])], "Partition reassignment contains duplicate topic partitions: t-0"),
        (
            [(0, [1, 1, 2]), (1, [3, 3])],
            (
                "Partition replica lists may not contain duplicate entries: t-0 contains multiple"
                " entries for 1. t-1 contains multiple entries for 3"
            ),
        ),
    ],
)
def test_what_is_wrong_in_any_cluster(
    partitions: list[tuple[int, list[int]]], message: str
) -> None:
    entries = ",".join(
        f'{{"topic":"t","partition":{number},"replicas":{replicas}}}'
        for number, replicas in partitions
    )
    with pytest.raises(ToolError, match=message):
        check_proposal(parse_proposal(f'{{"partitions":[{entries}]}}'), "nothing to do")


def test_topics_and_brokers_are_named_once() -> None:
    assert parse_topics('{"topics":[{"topic":"a"},{"topic":"b"}]}') == ["a", "b"]
    with pytest.raises(ToolError, match="List of topics to reassign contains duplicate entries: a"):
        parse_topics('{"topics":[{"topic":"a"},{"topic":"a"}]}')
    assert parse_brokers("0,2") == [0, 2]
    with pytest.raises(ToolError, match="Broker list contains duplicate entries: 1"):
        parse_brokers("1,1,2")
    for wrong in ("two", "+-2", "", " 2"):
        with pytest.raises(NumberError, match=f'^For input string: "{re.escape(wrong)}"$'):
            parse_brokers(f"1,{wrong}")
    assert duplicates([3, 1, 3, 1, 2]) == [3, 1]


def test_what_is_generated_can_be_read_again() -> None:
    current = {T0: (0, 1), T1: (1, 0)}
    proposed = propose(current, {2: None, 3: None, 4: None}, Random(1))
    assert parse_proposal(to_json(proposed)).partitions == proposed
    assert all(
        len(set(replicas)) == 2 and set(replicas) <= {2, 3, 4} for replicas in proposed.values()
    )
    assert to_json(current).startswith(
        '{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[0,1],"log_dirs":["any","any"]}'
    )


def test_throttled_replicas_are_named_by_partition_and_broker() -> None:
    assert throttled({T1: (3,), T0: (0, 1), TopicPartition("u", 0): (9,)}, "t") == "0:0,0:1,1:3"


@pytest.mark.parametrize(
    ("found", "state", "by_zookeeper", "by_brokers"),
    [
        (LogDirs("/b"), COMPLETED, "", "Reassignment of replica t-0-2 completed successfully."),
        (
            LogDirs("/a", "/b"),
            IN_PROGRESS,
            "",
            "Reassignment of replica t-0-2 is still in progress.",
        ),
        (
            LogDirs("/a", "/c"),
            FAILED,
            "Partition t-0 on broker 2 is being moved to log dir /c instead of /b",
            "Partition t-0 on broker 2 is being moved to log dir /c instead of /b.",
        ),
        (
            LogDirs("/a"),
            FAILED,
            "Partition t-0 on broker 2 is not being moved from log dir /a to /b",
            "Partition t-0 on broker 2 is not being moved from log dir /a to /b.",
        ),
        (
            None,
            FAILED,
            "Partition t-0 is not found in any live log dir on broker 2.",
            "Partition t-0 cannot be found in any live log directory on broker 2.",
        ),
        (
            LogDirs("", "/b"),
            FAILED,
            (
                "Partition t-0 is not found in any live log dir on broker 2. There is likely"
                " offline log directory on the broker."
            ),
            (
                "Partition t-0 is not found in any live log dir on broker 2. There is likely an"
                " offline log directory on the broker."
            ),
        ),
    ],
)
def test_how_far_a_replica_is_on_its_way_to_a_log_dir(
    found: LogDirs | None, state: str, by_zookeeper: str, by_brokers: str
) -> None:
    assert log_dir_state(REPLICA, found, "/b") == (state, by_zookeeper)
    assert log_dir_words(REPLICA, found, "/b") == by_brokers
