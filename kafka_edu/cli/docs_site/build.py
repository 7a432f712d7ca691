"""Build the site with MkDocs in a temporary folder, and move the complete site to its place."""

import hashlib
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.cli.docs_site.casts import CastError, films_of, stage_films
from kafka_edu.cli.docs_site.check import broken_links
from kafka_edu.cli.docs_site.live.build import FOLDER, build_live, digest_of
from kafka_edu.cli.docs_site.live.chapters import Chapters, chapters_of
from kafka_edu.cli.docs_site.live.npm_packages import LiveError
from kafka_edu.cli.docs_site.staging import PAGES_FOLDER, BrokenLinksError, stage
from kafka_edu.cli.docs_site.tree import Tree
from kafka_edu.common.python_process import python_command, python_environment

#: Name of a file in each site that this program built. It holds the hash of the site's sources.
STAMP: Final = ".kafka-edu-site"


class SiteError(Exception):
    """The site cannot be built. The message says why, and what the user can do."""


class Site(NamedTuple):
    """The result of a build."""

    folder: Path
    pages: int
    bytes: int
    built: bool
    """False if the folder already held a site that was made from the same pages."""


def build(root: Path, target: Path, *, live: bool = False) -> Site:
    """Build the site of the checkout `root` in the folder `target`. Raises SiteError if that fails.

    With `live`, the site also has the page that runs the brokers in the browser.

    A site that this program built in `target` is replaced. A folder with other files is refused.
    """
    _refuse_what_is_not_ours(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".site-", dir=target.parent) as work:
            chapters = chapters_of(root) if live else []
            moments = {one["page"]: (one["id"], one["facts"]) for one in chapters}
            return _build(Tree(root, moments), target, Path(work), chapters)
    except LiveError as error:
        raise SiteError(str(error)) from None
    except BrokenLinksError as error:
        raise SiteError("the pages have broken links:\n" + "\n".join(error.problems)) from None
    except CastError as error:
        raise SiteError(f"the frames of a recording cannot be made: {error}") from None
    except OSError as error:
        raise SiteError(
            f"cannot write the site to {target}: {error.strerror}. Name another folder with --to."
        ) from None


def _build(tree: Tree, target: Path, work: Path, chapters: Chapters) -> Site:
    staging, made = work / "staging", work / "site"
    digest = stage(tree, staging)
    if chapters:
        digest = hashlib.sha256(f"{digest} {digest_of(tree.root)}".encode()).hexdigest()
    if _stamp(target) == digest:
        return _site(target, built=False)
    stage_films(tree, films_of(tree), staging / PAGES_FOLDER)
    run_mkdocs(staging, made)
    _search_worker(made)
    if chapters:
        build_live(tree.root, made / FOLDER, chapters)
    if problems := broken_links(made):
        raise SiteError("the site has broken links:\n" + "\n".join(problems))
    (made / STAMP).write_text(digest, encoding="ascii")
    if target.exists():
        target.rename(work / "old")
    made.rename(target)
    return _site(target, built=True)


def run_mkdocs(staging: Path, made: Path) -> None:
    """Run MkDocs on the folder `staging`, and write the site to `made`.

    Raises SiteError if MkDocs reports an error or a warning.
    """
    command = python_command(
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--config-file",
        str(staging / "site.yml"),
        "--site-dir",
        str(made),
    )
    environment = python_environment() | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, cwd=staging
    )
    if done.returncode != 0:
        raise SiteError(f"MkDocs refuses the pages:\n{(done.stdout + done.stderr).strip()}")


def _search_worker(made: Path) -> None:
    """Put the code of the search's web worker into a script.

    A page that is opened as a file may not start a worker from another file.
    """
    workers = made / "assets" / "javascripts" / "workers"
    (worker,) = workers.glob("search.*.min.js")
    source = json.dumps(worker.read_text(encoding="utf-8"))
    script = made / "assets" / "search-worker.js"
    script.write_text(f"window.searchWorkerSource = {source};\n", encoding="utf-8")


def _refuse_what_is_not_ours(target: Path) -> None:
    if target.is_dir() and any(target.iterdir()) and _stamp(target) is None:
        raise SiteError(
            f"{target} holds other files than a site of kafka-edu, so nothing was changed there."
            " Name an empty folder with --to."
        )
    if target.exists() and not target.is_dir():
        raise SiteError(f"{target} is a file. Name a folder with --to.")


def _stamp(target: Path) -> str | None:
    stamp = target / STAMP
    return stamp.read_text(encoding="ascii") if stamp.is_file() else None


def _site(folder: Path, *, built: bool) -> Site:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return Site(
        folder=folder,
        pages=sum(path.suffix == ".html" for path in files),
        bytes=sum(path.stat().st_size for path in files),
        built=built,
    )
