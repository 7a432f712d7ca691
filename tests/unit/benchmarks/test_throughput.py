"""`bench throughput --checkout DIR` runs the commands of the checkout in DIR."""

from pathlib import Path

import pytest

from benchmarks.throughput import CheckoutFails, other_checkout

SCRIPT = """#!/bin/sh
echo "$1 $2 venv=$KAFKA_EDU_VENV path=$PYTHONPATH" >> "{calls}"
[ "$2" = "{failing}" ] && {{ echo "no port is free" >&2; exit 1; }}
for word in "$@"; do case $word in
  --json=*) echo '{{"bootstrap_servers": "127.0.0.1:7"}}' > "${{word#--json=}}";;
esac; done
exit 0
"""


def checkout(folder: Path, failing: str = "") -> Path:
    """Make a checkout whose command writes down its calls."""
    program = folder / "kafka-edu"
    program.write_text(SCRIPT.format(calls=folder / "calls", failing=failing))
    program.chmod(0o755)
    return folder


def test_its_cluster_is_up_for_the_block_with_nothing_of_this_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_EDU_VENV", "/ours")
    monkeypatch.setenv("PYTHONPATH", "/ours")
    monkeypatch.chdir(checkout(tmp_path))
    with other_checkout(Path()) as peer:
        assert peer.bootstrap == "127.0.0.1:7"
        calls = (tmp_path / "calls").read_text()
        assert calls == "cluster up venv= path=\n"
    assert (tmp_path / "calls").read_text() == calls + "cluster down venv= path=\n"


def test_a_start_that_fails_says_why_and_asks_for_no_stop(tmp_path: Path) -> None:
    with (
        pytest.raises(CheckoutFails, match="cluster up: no port is free"),
        other_checkout(checkout(tmp_path, "up")),
    ):
        pass
    assert (tmp_path / "calls").read_text().count("\n") == 1
