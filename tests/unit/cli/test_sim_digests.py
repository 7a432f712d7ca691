"""The digests of scenarios: the same seed gives the same facts as when they were written."""

from pathlib import Path

from click.testing import CliRunner

from kafka_edu.cli.sim.command import sim
from kafka_edu.cli.sim.playing import python_version

SMALL = """\
# A small run.
> cluster brokers=1
> topic t partitions=1 rf=1
> producer p topic=t rate=20
> run 1s
> settle 1s
"""


def test_a_digest_is_written_and_compared(tmp_path: Path) -> None:
    path = tmp_path / "small.sim"
    path.write_text(SMALL, encoding="utf-8")
    without = CliRunner().invoke(sim, ["digests", str(path)])
    assert without.exit_code == 1
    assert "the file has none" in without.output
    assert f"sim digests --write {path}" in without.output
    written = CliRunner().invoke(sim, ["digests", "--write", str(path)])
    assert written.exit_code == 0, written.output
    text = path.read_text(encoding="utf-8")
    assert text.startswith(SMALL)
    assert f"> digest {python_version()} " in text
    again = CliRunner().invoke(sim, ["digests", str(path)])
    assert again.exit_code == 0, again.output
    digest = text.split()[-1]
    path.write_text(text.replace(digest, "4f1b"), encoding="utf-8")
    differs = CliRunner().invoke(sim, ["digests", str(path)])
    assert differs.exit_code == 1
    assert f"is {digest}, and the file has 4f1b" in differs.output
    CliRunner().invoke(sim, ["digests", "--write", str(path)])
    assert path.read_text(encoding="utf-8") == text
