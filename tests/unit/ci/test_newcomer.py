"""The newcomer check reads pages correctly, and finds each way in which a command can fail."""

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

from tests.waiting import wait_for

ROOT = Path(__file__).resolve().parents[3]
PAGE = """# A page

```sh
./kafka-edu topics --list   # a comment
# only a comment

echo a \\
    b
```

```
what it prints
```

  ```sh serves
  ./kafka-edu proxy
  ```

```sh beside
./kafka-edu test
```

```sh long
./kafka-edu demo kills
```

```sh no-check: it takes half an hour
./kafka-edu bench throughput
```
"""


@pytest.fixture(scope="module")
def newcomer() -> ModuleType:
    loader = SourceFileLoader("newcomer", str(ROOT / ".ci" / "newcomer"))
    spec = importlib.util.spec_from_loader("newcomer", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["newcomer"] = module  # dataclasses look their module up
    loader.exec_module(module)
    return module


def test_blocks_are_read_with_their_marks(newcomer: ModuleType) -> None:
    blocks = list(newcomer.blocks_of("page.md", PAGE))
    assert [(b.line, str(b.kind), b.reason, b.commands) for b in blocks] == [
        (3, "run", "", ("./kafka-edu topics --list   # a comment", "echo a \\\n    b")),
        (15, "serves", "", ("./kafka-edu proxy",)),
        (19, "beside", "", ("./kafka-edu test",)),
        (23, "long", "", ("./kafka-edu demo kills",)),
        (27, "no-check", "it takes half an hour", ("./kafka-edu bench throughput",)),
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```\n./kafka-edu demo\n```\n", "page.md:1: this block shows commands and is not marked"),
        (
            "```text\n$ ./kafka-edu demo\n```\n",
            "page.md:1: this block shows commands and is not marked",
        ),
        ("a\n\n    ./kafka-edu demo\n", "page.md:3: an indented block shows a command"),
        ("```sh no-check\n./kafka-edu demo\n```\n", "page.md:1: `sh no-check` needs a reason"),
        ("```sh fast\n./kafka-edu demo\n```\n", "page.md:1: unknown mark `sh fast`"),
        ("```sh\n./kafka-edu demo\n", "page.md:1: the block that begins here does not end"),
    ],
)
def test_no_command_hides(newcomer: ModuleType, text: str, complaint: str) -> None:
    with pytest.raises(newcomer.PageError) as error:
        list(newcomer.blocks_of("page.md", text))
    assert str(error.value).startswith(complaint)


def test_the_pages_of_this_checkout_are_marked(newcomer: ModuleType) -> None:
    blocks = newcomer.read_pages(ROOT)
    assert blocks[0].page == "README.md"
    commands = {
        command.split("  ")[0]
        for block in blocks
        if block.kind in ("run", "beside")
        for command in block.commands
    }
    assert {"./kafka-edu demo", "./kafka-edu test", "./kafka-edu spark status-codes"} <= commands


@pytest.fixture
def somebody(newcomer: ModuleType, tmp_path: Path) -> object:
    somebody = newcomer.Newcomer(tmp_path, Path(sys.executable).resolve())
    somebody.clone.mkdir()
    return somebody


@pytest.mark.parametrize(
    ("command", "failure"),
    [
        ("echo well", ""),
        ("exit 3", "exit status 3"),
        ("false | cat", "exit status 1"),
        ("python3 -c '1/0' || true", "a stack trace in its output"),
        (
            "printf '\\tat org.apache.spark.Main.main(Main.java:7)\\n'",
            "a stack trace in its output",
        ),
        ("java -version", "exit status 127"),
        ('test "$(ls -A "$HOME")" = "" && test -z "${KAFKA_EDU_HOME:-}"', ""),
    ],
)
def test_each_way_to_fail_is_seen(
    newcomer: ModuleType, somebody: object, command: str, failure: str
) -> None:
    assert somebody.run("page.md", 1, command).failure == failure  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("size", "failure"),
    [
        ("17.6", ""),
        ("24.1", "it said that it fetches at most 23 MB, and fetched 24.5 MB"),
        ("9.0", "it said that it fetches at most 23 MB, and fetched 9.4 MB"),
    ],
)
def test_what_is_fetched_is_what_is_said(somebody: object, size: str, failure: str) -> None:
    command = (
        "echo \"kafka-edu: fetching the packages of 'main', at most 23 MB, into .venv\"\n"
        f"echo '2026-01-01T00:00:00   Downloading a-1.whl ({size} MB)' >>\"$PIP_LOG\"\n"
        "echo '2026-01-01T00:00:01   Downloading b-1.tar.gz (400 kB)' >>\"$PIP_LOG\""
    )
    outcome = somebody.run("page.md", 1, command)  # type: ignore[attr-defined]
    assert (outcome.failure, outcome.said_mb) == (failure, 23)


def test_a_command_beside_others_waits_for_none_of_them_and_is_judged_as_they_are(
    newcomer: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first command waits for a file that the second command creates, and the cluster starts
    before both commands. The first command has a separate clone, so the file is in a different
    folder.
    """
    monkeypatch.setattr(
        newcomer.Newcomer,
        "get_clone",
        lambda self: (
            self.clone.mkdir(),
            (self.clone / "kafka-edu").symlink_to(self.folder / "programs/true"),
        ),
    )
    page = (
        "```sh beside\nuntil [ -e ../../kafka-edu/made ]; do sleep 0.01; done; exit 3\n```\n"
        "```sh\ntouch made\n```\n"
    )
    blocks = list(newcomer.blocks_of("page.md", page))
    python = Path(sys.executable).resolve()
    outcomes, left = newcomer.check(python, blocks, everything=False, keep=False)
    assert [(one.line, one.failure) for one in outcomes] == [
        (0, ""),
        (4, ""),
        (1, "exit status 3"),
    ]
    assert left == []
    assert "next to the commands above\n  ✗" in capsys.readouterr().out


def test_a_server_must_stay_and_end_at_ctrl_c(newcomer: ModuleType, somebody: object) -> None:
    good = somebody.serve(
        "page.md", 1, "echo listening; trap 'exit 0' INT; while :; do sleep 0.05; done"
    )  # type: ignore[attr-defined]
    gone = somebody.serve("page.md", 1, "exit 4")  # type: ignore[attr-defined]
    somebody.stop_servers()  # type: ignore[attr-defined]
    assert good.failure == ""
    assert gone.failure == "it should serve, and ended with status 4"


def test_a_process_that_is_left_is_found(
    newcomer: ModuleType, somebody: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newcomer, "LEAVE_TIMEOUT_S", 0.0)  # this one never ends by itself
    if not Path("/proc/self/environ").exists():
        pytest.skip("no /proc on this system: processes left are not looked for")
    somebody.run("page.md", 1, "sleep 600 >/dev/null 2>&1 </dev/null &")  # type: ignore[attr-defined]

    def left() -> list[str]:
        return [line.split()[1] for line in somebody.left_processes()]  # type: ignore[attr-defined]

    # A process that is just becoming another program cannot be seen for a moment.
    wait_for(lambda: left() == ["sleep"], lambda: f"left: {left()}")
    somebody.kill_processes()  # type: ignore[attr-defined]
    monkeypatch.undo()
    assert somebody.left_processes() == []  # type: ignore[attr-defined]


def test_the_tests_know_whether_they_run_in_ci(newcomer: ModuleType) -> None:
    passed = newcomer.PASSED_VARIABLES
    assert passed.match("CI")
    assert not passed.match("CI_JOB")
