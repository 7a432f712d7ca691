"""`kafka-edu sim digests`: compare runs with the digests that their scenario files have."""

from pathlib import Path

import click
from rich.console import Console

from kafka_edu.cli.sim.playing import play_and_tell, python_version
from kafka_edu.cli.sim.scenario_files import SHIPPED, load, path_of, seed_of
from kafka_edu.common.python_process import command_line


@click.command()
@click.argument("files", nargs=-1)
@click.option("--write", is_flag=True, help="Write the digests into the files.")
def digests(files: tuple[str, ...], write: bool) -> None:
    """Play each of FILES once, and compare its digest with the one in the file.

    Without FILES, the scenarios that come with kafka-edu are played, with the seed of the file or
    seed 1. Where versions of Python differ, a file has one digest for each of them. Exits with 1 if
    a digest differs.
    """
    console, version = Console(), python_version()
    differ = list[str]()
    for name in files or SHIPPED:
        scenario = load(name)
        result, _ = play_and_tell(scenario, seed_of(scenario, None), "")
        expected = scenario.digest_for(version)
        if write:
            write_digest(path_of(name), version, result.digest)
            console.print(f"{name}: Python {version} {result.digest}", soft_wrap=True)
        elif expected == result.digest:
            console.print(f"[green]✓[/] {name}: the digest of Python {version}", soft_wrap=True)
        else:
            differ.append(name)
            console.print(
                f"[red]✕[/] {name}: the digest of Python {version} is {result.digest}, and the file"
                f" has {expected or 'none'}",
                soft_wrap=True,
                highlight=False,
            )
    if differ:
        again = command_line(f"sim digests --write {' '.join(differ)}")
        console.print(
            f"If the code was changed on purpose, write the digest with: {again}",
            soft_wrap=True,
            highlight=False,
        )
        raise SystemExit(1)


def write_digest(path: Path, version: str, digest: str) -> None:
    """Write the digest of one version of Python into a scenario file. Other lines stay as they are.

    Raises ClickException if the file cannot be written.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        line = f"> digest {version} {digest}"
        old = [one for one in lines if one.split()[:3] == [">", "digest", version]]
        if old:
            lines[lines.index(old[0])] = line
        else:
            lines.append(line)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from error
