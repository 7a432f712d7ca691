"""zookeeper-shell without a server: its texts, the release whose form they have, paths and access
lists.

tests/interop compares the shell with ZooKeeper's own.
"""

import pytest

from kafka_edu.tools.keeper_exceptions import exception_class, message
from kafka_edu.tools.zookeeper_commands_3_5 import CommandError, only_here, parse
from kafka_edu.tools.zookeeper_session import PathError, check_path
from kafka_edu.tools.zookeeper_shell import main, split_line
from kafka_edu.tools.zookeeper_words import acl_text, parse_acl
from kafka_edu.zk.jute.proto import Acl
from kafka_edu.zk.zk_client import ZkError, ZkErrorCode


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ls /a", ["ls", "/a"]),
        ("  create   /a  'two words' ", ["create", "/a", "two words"]),
        ('set /a "it\'s"', ["set", "/a", "it's"]),
        ("set /a a'b", ["set", "/a", "a'b"]),
        ("   ", []),
    ],
)
def test_the_words_of_a_line(line: str, words: list[str]) -> None:
    assert split_line(line) == words


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "Path length must be > 0"),
        ("a", "Path must start with / character"),
        ("/a/", "Path must not end with / character"),
        ("/a//b", 'Invalid path string "/a//b" caused by empty node name specified @3'),
        ("/a/../b", 'Invalid path string "/a/../b" caused by relative paths not allowed @4'),
        ("/a\x00", 'Invalid path string "/a\x00" caused by null character not allowed @2'),
        ("/a\x1f", 'Invalid path string "/a\x1f" caused by invalid character @2'),
    ],
)
def test_what_is_no_path(path: str, why: str) -> None:
    with pytest.raises(PathError) as refused:
        check_path(path)
    assert str(refused.value) == why


def test_paths() -> None:
    for path in ("/", "/a", "/a/.b/c..", "/grüße/世界"):
        assert check_path(path) == path


def test_which_lines_only_3_5_has() -> None:
    for line in (
        "ls -s /a",
        "get -w /a",
        "deleteall /a",
        "create /a",
        "create -s /a",
        "set -v 1 /a x",
        "delete -v 0 /a",
        "setAcl -R /a world:anyone:r",
    ):
        assert only_here(line.split()), line
    for line in (
        "ls /a",
        "ls2 /a",
        "get /a watch",
        "create -e -s /a x",
        "delete /a 1",
        "rmr /a",
        "setquota -n 1 /a",
        "delquota -b /a",
        "create",
        "quit",
    ):
        assert not only_here(line.split()), line


def test_options_of_3_5() -> None:
    given = parse(["set", "-s", "/a", "-v", "3", "x", "-"], "s", "v")
    assert (given.options, given.paths) == ({"s": "", "v": "3"}, ["/a", "x", "-"])
    assert parse(["ls", "-Rw", "/a"], "swR", "").options == {"R": "", "w": ""}
    with pytest.raises(CommandError, match="Unrecognized option: -z"):
        parse(["ls", "-z"], "swR", "")
    with pytest.raises(CommandError, match="Missing argument for option: v"):
        parse(["set", "-v"], "s", "v")


def test_access_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert parse_acl("world:anyone:cdrwa,ip:10.0.0.0/8:rz,bad,digest:bob:h:r") == (
        Acl(31, "world", "anyone"),
        Acl(1, "ip", "10.0.0.0/8"),
        Acl(1, "digest", "bob:h"),
    )
    assert (
        capsys.readouterr().err
        == "Unknown perm type: z\nbad does not have the form scheme:id:perm\n"
    )
    assert acl_text((Acl(21, "world", "anyone"),)) == "'world,'anyone\n: cra"


def test_exceptions_have_javas_names() -> None:
    lost = ZkError(ZkErrorCode.CONNECTION_LOSS, "/a")
    assert (exception_class(lost), message(lost)) == (
        "org.apache.zookeeper.KeeperException$ConnectionLossException",
        "KeeperErrorCode = ConnectionLoss for /a",
    )
    assert (
        exception_class(ZkError(ZkErrorCode.INVALID_ACL))
        == "org.apache.zookeeper.KeeperException$InvalidACLException"
    )
    assert (
        message(ZkError(ZkErrorCode.NOT_EMPTY, "/a"))
        == "KeeperErrorCode = Directory not empty for /a"
    )


@pytest.mark.parametrize(
    "words", [[], ["--release"], ["--release", "3.6", "h:1"], ["--release", "3.5"]]
)
def test_without_a_server_the_usage_is_told(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 1
    assert "zookeeper_host:port[/path] [args...]" in capsys.readouterr().err
