"""The demo ps-pitfall really runs a shell, a pipeline and three processes, and its result agrees
with the book.
"""

import json
from pathlib import Path

from click.testing import CliRunner

from chapters.ch06_graceful_shutdown.ps_pitfall import (
    LONG,
    PAGE_SIZE,
    SCRIPT,
    as_ps_printed_it,
    command_line,
    pids_by,
    ps_pitfall,
)


def test_the_books_pitfall(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    result = CliRunner().invoke(ps_pitfall, ["--json", str(file)])
    assert result.exit_code == 0, result.output
    report = json.loads(file.read_text())
    assert (
        report["figures"]["bytes of the command line, short"]
        < PAGE_SIZE
        < report["figures"]["bytes of the command line, long"]
    )
    assert report["figures"]["the same, on Linux before 4.2 (cut at 4096 bytes)"] == {
        "short": True,
        "long": False,
        "bystander": False,
    }
    assert report["figures"]["the book's remedy, grep kafka, on Linux before 4.2"] == {
        "short": True,
        "long": True,
        "bystander": True,
    }
    assert report["figures"]["a whole argument kafka.Kafka, as server-stop looks"] == {
        "short": True,
        "long": True,
        "bystander": False,
    }


def test_it_is_the_cut_that_hides_the_class() -> None:
    words = command_line(LONG)
    assert pids_by(SCRIPT, as_ps_printed_it([(77, words)])) == set()
    assert pids_by(SCRIPT, f"   77 ?        Sl     0:00 {' '.join(words)}\n") == {77}
    shorter = [*words[:4], words[4][: PAGE_SIZE - 300], *words[5:]]
    assert pids_by(SCRIPT, as_ps_printed_it([(77, shorter)])) == {77}


def test_a_command_of_several_lines_takes_one() -> None:
    script = ["sh", "-c", "true\njava -jar kafka.Kafka\n"]
    assert pids_by(SCRIPT, as_ps_printed_it([(77, script)])) == {77}
