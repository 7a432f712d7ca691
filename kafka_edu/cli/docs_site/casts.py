"""Put the recordings of chapters on the site: frames of the dashboard, in asciinema's player.

`kafka-edu chapter NN --cast` makes the frames of a chapter. The frames are kept in the user's state
folder, and are made again only when one of their source files has changed.
"""

import hashlib
import html
import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.cli.docs_site.tree import Tree, relative
from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.common.user_files import state_folder

PLAYER: Final = "mkdocs_asciinema_player"
"""The package that contains the player.

Its MkDocs plugin is not used, because it needs a server.
"""
PLAYER_FILES: Final = ("asciinema-player.min.js", "asciinema-player.css")
HEADING: Final = "\n## Predict, run and watch\n"
PART_HEADING: Final = "\n### "
AT_ONCE: Final = 4
"""How many films are made at the same time.

A process that makes a film waits half of the time, so four films keep two cores busy.
"""
_CHAPTER: Final = re.compile(r"chapters/ch(?P<number>\d\d)_\w+/(?P<page>\w+)\.md")
MARK: Final = re.compile(r"<!--\s*(?:exact|range):\s*(?P<name>[a-z][a-z0-9_]*)[^>]*-->")


class CastError(Exception):
    """The frames of a chapter cannot be made. The message says why."""


class Film(NamedTuple):
    """The recording that a page shows: of a chapter, or of a part of a chapter."""

    page: str
    number: str
    part: str
    """Name of the part of the chapter. Empty if the film shows the chapter itself."""

    @property
    def id(self) -> str:
        return f"{self.number}-{self.part}" if self.part else self.number

    @property
    def script(self) -> str:
        """Return the path of the film's data file in the site."""
        return f"assets/casts/{self.id}.js"


def film_of(tree: Tree, page: str) -> Film | None:
    """Return the recording that a page shows, or None if the page shows no recording."""
    found = _CHAPTER.fullmatch(page)
    if found is None:
        return None
    part = "" if found["page"] == "README" else found["page"]
    recording = page.removesuffix(f"{found['page']}.md") + f"{part or 'recording'}.jsonl.gz"
    return Film(page, found["number"], part) if (tree.root / recording).is_file() else None


def films_of(tree: Tree) -> list[Film]:
    """Return the recordings of all pages, in the order of the pages."""
    return [film for page in tree.pages() if (film := film_of(tree, page)) is not None]


def with_film(text: str, film: Film) -> str:
    """Return the text of a page with the film inserted.

    Each marked number in the page gets a link to its moment in the film.
    """
    name = html.escape(film.id)
    text = MARK.sub(
        lambda mark: (
            f'<a class="moment" data-name="{mark["name"]}" href="#film-{name}"'
            ' title="see it happen">▸</a>'
        ),
        text,
    )
    heading = HEADING if HEADING in text else PART_HEADING
    before, found, after = text.partition(heading)
    source = relative(film.page, film.script)
    player = [relative(film.page, f"assets/casts/{file}") for file in PLAYER_FILES]
    box = (
        f'\n<div class="film" id="film-{name}" data-film="{name}" data-source="{source}"'
        f' data-player="{player[0]}" data-style="{player[1]}">'
        "<button>▶ watch the recording here</button></div>\n\n"
    )
    if heading == HEADING:
        return before + found + box + after
    return before + box + found + after


def stage_films(tree: Tree, films: Iterable[Film], pages: Path) -> None:
    """Write the player and the data of the films into the folder `pages`.

    Raises CastError if the frames of a film cannot be made.
    """
    films = list(films)
    if not films:
        return
    folder = pages / "assets" / "casts"
    folder.mkdir(parents=True, exist_ok=True)
    player = resources.files(PLAYER) / "assets"
    for file in PLAYER_FILES:
        (folder / file).write_bytes((player / file).read_bytes())
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for film, cast in zip(films, pool.map(lambda one: _cast(tree, one), films), strict=True):
            data = json.dumps(cast, ensure_ascii=False)
            text = f"(window.kafkaEduFilms ??= {{}})[{json.dumps(film.id)}] = {data};\n"
            (pages / film.script).write_text(text, encoding="utf-8")


def _cast(tree: Tree, film: Film) -> str:
    """Return the text of the film's asciicast file. If the file does not exist yet, make it."""
    made = state_folder() / "site-casts" / f"{film.id}-{digest_of(tree, film)}.cast"
    if not made.is_file():
        made.parent.mkdir(parents=True, exist_ok=True)
        new = made.with_suffix(".new")
        part = ["--part", film.part] if film.part else []
        words = ["chapter", film.number, *part, "--cast", str(new)]
        done = subprocess.run(
            python_command("kafka_edu", *words),
            env=python_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise CastError(f"chapter {film.id}: {(done.stderr or done.stdout).strip()}")
        new.replace(made)
    return made.read_text(encoding="utf-8")


def digest_of(tree: Tree, film: Film) -> str:
    """Return a hash of all files that the film is made from.

    The hash changes when one of these files changes.
    """
    digest = hashlib.sha256()
    for path in _made_from(tree.root, film):
        digest.update(path.relative_to(tree.root).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _made_from(root: Path, film: Film) -> Iterator[Path]:
    """Yield the files that the film is made from: files of the chapter and of the dashboard."""
    chapter = (root / film.page).parent
    yield from sorted(path for path in chapter.iterdir() if path.is_file() and path.suffix != ".md")
    for folder in ("tui", "kafka_edu/instruments"):
        yield from sorted(
            path
            for path in (root / folder).rglob("*")
            if path.suffix in (".py", ".tcss", ".toml") and path.is_file()
        )
