"""Build one site of chapters, exercises and docs, with search, or serve it. It needs no network."""

import contextlib
import errno
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import click

from kafka_edu.cli.docs_site.build import Site, SiteError, build
from kafka_edu.common.package_group import PackageGroupError, ensure_group
from kafka_edu.common.python_process import checkout, command_line

_live_option: Final = click.option(
    "--live",
    is_flag=True,
    help="Also build the page that runs the brokers in the browser. It needs Node.js and npm.",
)


@click.group()
def docs() -> None:
    """Build one site of chapters, exercises and docs, with search, or serve it."""


@docs.command("build")
@click.option(
    "--to",
    "target",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Where to build it. Default: the folder `site` of the checkout.",
)
@_live_option
def build_command(target: Path | None, live: bool) -> None:
    """Build the site into a folder. To read it, open the file index.html in a browser."""
    site = _build(target, live)
    click.echo(f"open {site.folder / 'index.html'}, or run: {command_line('docs serve')}")
    if live:
        click.echo(
            "the brokers in a page need a web server, also from a USB stick: in this folder run"
            " python -m http.server, and open http://127.0.0.1:8000/live/"
        )


@docs.command()
@click.option("--port", default=8000, show_default=True, type=click.IntRange(1, 65535))
@click.option(
    "--to",
    "target",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Where to build it. Default: the folder `site` of the checkout.",
)
@_live_option
def serve(port: int, target: Path | None, live: bool) -> None:
    """Build the site if its pages have changed, and serve it on 127.0.0.1 until Ctrl-C."""
    try:
        server = server_of(_folder(target), port)
    except OSError as error:
        raise click.ClickException(_no_port(port, error)) from None
    with server:
        _build(target, live)
        click.echo(f"the site is at http://127.0.0.1:{port}/ until you press Ctrl-C")
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


def server_of(folder: Path, port: int) -> ThreadingHTTPServer:
    """Return a web server on 127.0.0.1 that serves the files of a folder.

    Raises OSError if the port is taken.
    """
    return ThreadingHTTPServer(("127.0.0.1", port), partial(_Handler, directory=str(folder)))


class _Handler(SimpleHTTPRequestHandler):
    """Serve files without logging the requests, because each page causes about twenty of them."""

    def log_message(self, format: str, *args: object) -> None:
        """Do nothing, so that no request is logged."""


def _no_port(port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        why = "another program listens there"
    else:
        why = error.strerror or str(error)
    another = command_line(f"docs serve --port {port + 1 if port < 65535 else 8000}")
    return f"cannot serve on port {port} of 127.0.0.1: {why}. Choose another port: {another}"


def _folder(target: Path | None) -> Path:
    root = checkout()
    if root is None:
        raise click.ClickException(
            "the pages are in the checkout, not in this installation: clone the repository and run"
            " ./kafka-edu docs build there"
        )
    return (target or root / "site").absolute()


def _build(target: Path | None, live: bool) -> Site:
    folder = _folder(target)
    root = checkout()
    assert root is not None
    try:
        ensure_group("docs", "mkdocs", "material")
        site = build(root, folder, live=live)
    except PackageGroupError as error:
        reason = " ".join(str(error).split())
        raise click.ClickException(
            f"{reason} Without them, read docs/index.md in any editor."
        ) from None
    except SiteError as error:
        raise click.ClickException(str(error)) from None
    done = "built" if site.built else "nothing has changed:"
    click.echo(f"{done} {site.pages} pages, {site.bytes / 1e6:.1f} MB, in {site.folder}")
    return site
