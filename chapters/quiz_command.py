"""Play a chapter's predictions with a class.

Teams answer on their phones, or the teacher types their letters. Then the cluster shows the right
answer.
"""

import contextlib
import csv
import ipaddress
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from kafka_edu.common.package_group import PackageGroupError, ensure_group
from kafka_edu.common.words import cause_of
from kafka_edu.instruments.quiz.game import Game, QuizError
from kafka_edu.instruments.quiz.host import QuizHost

from .chapter import Chapter
from .command import chapter_of, errors_as_messages, list_chapters, presenter, run_live

if TYPE_CHECKING:
    from kafka_edu.instruments.quiz.server import QuizServer

PORT: Final = 8765
ANYWHERE: Final = "0.0.0.0"  # used only if the teacher asks for it


class ListenAddress(click.ParamType[tuple[str, int]]):
    """The type of an option: ADDRESS or ADDRESS:PORT, where ADDRESS belongs to this machine."""

    name = "ADDRESS[:PORT]"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int]:
        host, colon, port = str(value).rpartition(":")
        if not colon:
            host, port = str(value), str(PORT)
        try:
            ipaddress.ip_address(host)
        except ValueError:
            self.fail(f"{value} is not ADDRESS[:PORT], as 192.168.0.5 or 0.0.0.0:8765", param, ctx)
        if not (port.isascii() and port.isdigit() and int(port) <= 65_535):
            self.fail(f"{port} is not a port: a port is 0 to 65535", param, ctx)
        return host, int(port)


@click.command()
@click.argument("number", metavar="[CHAPTER]", required=False)
@click.option("--replay", is_flag=True, help="Use the chapter's recording, without a cluster.")
@click.option("--plain", is_flag=True, help="Print only text, without the dashboard.")
@click.option(
    "--listen",
    type=ListenAddress(),
    default=f"127.0.0.1:{PORT}",
    show_default=True,
    help="The address of the page. For a class: this machine's address in its network.",
)
@click.option(
    "--teams",
    metavar="NAME,NAME,…",
    help="Play without a network: you type the answers, a letter for the team and a digit.",
)
@click.option(
    "--csv",
    "csv_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write names, points and answers to this file at the end. Without this option nothing is"
    " stored.",
)
def quiz(
    number: str | None,
    replay: bool,
    plain: bool,
    listen: tuple[str, int],
    teams: str | None,
    csv_file: Path | None,
) -> None:
    """Play the questions of CHAPTER with a class; without a chapter, list the chapters.

    Teams open the page on phones or laptops, type the code on the screen and a name, and answer.
    The space key closes a question. Then the cluster shows the right answer. A right answer gives
    100 points, fast or slow.
    """
    if number is None:
        list_chapters()
        return
    chosen = chapter_of(number)
    if csv_file is not None:
        _may_write(csv_file)
    game = Game(chosen.title)
    host = _typed(game, teams) if teams is not None else _served(game, *listen)
    try:
        with errors_as_messages(chosen):
            _play(chosen, host, replay, plain or teams is not None)
    except OSError as error:
        raise click.ClickException(
            f"cannot listen on {listen[0]}:{listen[1]}: {cause_of(error)}; choose another one with"
            " --listen ADDRESS:PORT"
        ) from error
    if csv_file is not None:
        with csv_file.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(game.table())
        click.echo(f"{csv_file}: {game.teams} teams")


def _may_write(file: Path) -> None:
    """Raise click's exception if the file cannot be written.

    This is checked before the quiz, so that the user does not lose its results.
    """
    try:
        file.touch()
    except OSError as error:
        raise click.ClickException(f"cannot write {file}: {cause_of(error)}") from error


def _typed(game: Game, teams: str) -> QuizHost:
    """Return a host for teams whose answers the teacher types. It needs no network.

    Raises click's exception if `teams` is wrong.
    """
    host = QuizHost(game)
    try:
        host.seat([one for one in teams.split(",") if one.strip()])
    except QuizError as error:
        raise click.UsageError(f"--teams: {error}") from error
    if not game.teams:
        raise click.UsageError("--teams names no team: red,blue for example")
    return host


def _served(game: Game, address: str, port: int) -> QuizHost:
    """Return a host that serves a web page for the teams. Raises click's exception if it cannot."""
    try:
        ensure_group("quiz", "aiohttp")
    except PackageGroupError as error:
        raise click.ClickException(
            f"{error} Or play without a network: --teams red,blue"
        ) from error
    from kafka_edu.instruments.quiz.server import QuizServer

    server = QuizServer(game)

    @contextlib.asynccontextmanager
    async def serving() -> AsyncIterator[str]:
        async with server.serving(address, port) as taken:
            yield _where(server, address, taken)

    return QuizHost(game, serving)


def _where(server: "QuizServer", address: str, port: int) -> str:
    shown = _own_address() if address == ANYWHERE else address
    return f"Join at http://{shown}:{port}   code {server.code}"


def _own_address() -> str:
    """Return the IP address by which other machines can reach this machine. Nothing is sent."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])
    return "127.0.0.1"


def _play(chosen: Chapter, host: QuizHost, replay: bool, plain: bool) -> None:
    stage = presenter()
    script = chosen.script(stage.screen_names())
    if replay:
        stage.run_presentation(
            script,
            chosen.script_file,
            stage.Scene.of_recordings([chosen.recording]),
            plain=plain,
            from_start=True,
            audience=host,
        )
    else:
        run_live(chosen, script, stage, plain, True, (), host)
