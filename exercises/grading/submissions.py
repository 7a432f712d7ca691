"""Find the submissions of a class: plain files, folders by student, or the download of an LMS.

| where from | name | student |
| --- | --- | --- |
| files | `anna.py` | anna |
| folders | `anna/timing_wheel.py`, `anna/lab/02-1/timing_wheel.py` | anna |
| Moodle | `Anna Berg_123456_assignsubmission_file_/timing_wheel.py`, or all that as one file name | Anna Berg |
| Canvas | `berganna_LATE_1234_56789_timing_wheel-2.py`, with or without `LATE_` and `-2` | berganna |
| Blackboard | `Lab 1_aberg_attempt_2026-11-23-10-15-20_timing_wheel.py` | aberg |

A submission may be a zip file, and so may the whole folder. If a student has several attempts, the
latest attempt is graded. A submission may try to harm the grader, so links, pipes and files above 1
MB are not read. From a zip file only the files to grade are unpacked.
"""  # noqa: E501  # a table

import csv
import io
import lzma
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from ..runner.manifest import Exercise
from ..runner.progress import FILE as PROGRESS
from ..runner.progress import parse

MAX_FILE_BYTES: Final = 1 << 20
MAX_ZIP_BYTES: Final = 4 << 20
"""The largest size of a student's zip file, in bytes."""
MAX_DOWNLOAD_BYTES: Final = 256 << 20
"""The largest size of a zip file with a whole class, in bytes."""
MAX_ZIP_ENTRIES: Final = 20_000
MAX_PATHS: Final = 5_000
"""The largest number of files in one student's folder that are read."""

_MOODLE: Final = re.compile(r"(?P<student>[^_]+)_(?P<id>\d+)_assignsubmission_file_?(?P<file>.*)")
_CANVAS: Final = re.compile(
    r"(?P<student>[^_]+)_(?:LATE_)?(?P<id>\d+)_(?P<attempt>\d+)_(?P<file>.+)"
)
_BLACKBOARD: Final = re.compile(
    r".+_(?P<student>[^_]+)_attempt_(?P<attempt>\d{4}(?:-\d\d){5})(?:_(?P<file>.+))?"
)
_IGNORED: Final = re.compile(r"\..*|__MACOSX|__pycache__|.*_assignsubmission_onlinetext_.*")


#: The exceptions that reading a zip file may raise: it may be broken, encrypted or of an unknown
#: type.
ZIP_FAULTS: Final = (
    *(zipfile.BadZipFile, ValueError, KeyError, RuntimeError, EOFError, OverflowError),
    *(zlib.error, lzma.LZMAError, struct.error),
)


class SubmissionsError(Exception):
    """The folder or the roster cannot be used. The message says why, and what to do."""


class Submission(NamedTuple):
    """The work of one student."""

    student: str
    path: str
    """The path of the submission, as the teacher sees it."""
    content: bytes | None
    """The content of the learner's file; None if there is no such file."""
    problem: str = ""
    """Why `content` is None; empty if it is not."""
    material: int = 0
    """The seed from which this student's own numbers were made; 0 if unknown."""
    ids: tuple[str, ...] = ()
    """The ids of this student in the learning system. The roster may have other ids."""
    attempt: str = ""
    note: str = ""
    """A doubt about the student, for example: name and id belong to two students."""


class _Source(NamedTuple):
    """A file, or one entry of a zip file."""

    file: Path
    entry: str = ""
    limit: int = MAX_FILE_BYTES
    """The largest size of the file, in bytes. An entry may have MAX_FILE_BYTES at most."""

    def read(self) -> bytes:
        """Return the content. Raises OSError, or a ValueError whose message says why it was not
        read.
        """
        if self.entry:
            with zipfile.ZipFile(io.BytesIO(_read(self.file, self.limit))) as archive:
                if archive.getinfo(self.entry).file_size > MAX_FILE_BYTES:
                    raise ValueError(f"{self.entry} has more than {MAX_FILE_BYTES >> 20} MB")
                with archive.open(self.entry) as packed:
                    content = packed.read(MAX_FILE_BYTES + 1)
            if len(content) > MAX_FILE_BYTES:
                raise ValueError(f"{self.entry} has more than {MAX_FILE_BYTES >> 20} MB")
            return content
        return _read(self.file, self.limit)


def _read(file: Path, limit: int) -> bytes:
    """Return the content of a regular file. Raises OSError and ValueError.

    The file may be a trap, so links are not followed, and pipes are not waited for.
    """
    opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(opened, "rb") as content:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"{file.name} is not a regular file")
        if found.st_size > limit:
            raise ValueError(f"{file.name} has more than {limit >> 20} MB")
        return content.read(limit)


def find_submissions(folder: Path, exercise: Exercise) -> list[Submission]:
    """Return the submissions in a folder or a zip file, sorted by student.

    Raises SubmissionsError.
    """
    if not folder.exists():
        raise SubmissionsError(f"there is no {folder}: name the folder that holds the submissions")
    trees: dict[str, dict[str, _Source]] = {}
    for path, source in _expand(folder):
        top, _, rest = path.partition("/")
        if not _IGNORED.fullmatch(top):
            trees.setdefault(top, {})[rest] = source
    found: dict[tuple[str, ...], Submission] = {}
    for name, files in sorted(trees.items()):
        submission = _submission(name, files, exercise)
        of = (submission.student, *submission.ids)
        if of not in found or _order(submission) > _order(found[of]):
            found[of] = submission
    if not found:
        raise SubmissionsError(
            f"{folder} holds no submission: a file NAME.py for each student, a folder for each"
            " student, or an unpacked download of Moodle, Canvas or Blackboard"
        )
    return sorted(found.values(), key=lambda one: one.student.casefold())


def find_one(folder: Path, exercise: Exercise) -> Submission:
    """Return the submission of the only student, whose files are in `folder`."""
    return _submission("submission", dict(_expand(folder)), exercise)


def _order(one: Submission) -> tuple[bool, tuple[tuple[int, str], ...]]:
    """Return a sort key for the attempts of a student: the largest key is the attempt that counts.

    Attempts with a file come after attempts without a file. Among attempts of the same kind, later
    attempts come after earlier attempts.
    """
    digits = re.findall(r"\d+", one.attempt)
    return one.content is not None, tuple((len(text.lstrip("0")), text) for text in digits)


def _expand(folder: Path) -> Iterator[tuple[str, _Source]]:
    """Yield each file in `folder`: its path relative to `folder`, and a source that reads its
    bytes.

    Files in zip files are included. For the folder of a student, the path `name/` is also yielded,
    so that a student with an empty folder is not forgotten.
    """
    if folder.is_file():
        yield from _entries(folder, "", MAX_DOWNLOAD_BYTES)
        return
    for entry in sorted(folder.iterdir()):
        if entry.is_symlink() or not entry.is_dir():
            yield from _file_or_entries(entry, entry.name)
            continue
        yield f"{entry.name}/", _Source(entry)
        seen = 0
        for top, folders, files in os.walk(entry):
            folders[:] = sorted(name for name in folders if not _IGNORED.fullmatch(name))
            for name in sorted(files):
                seen += 1
                if seen > MAX_PATHS:
                    break
                path = Path(top) / name
                yield from _file_or_entries(path, path.relative_to(folder).as_posix())
            if seen > MAX_PATHS:
                break


def _file_or_entries(file: Path, name: str) -> Iterator[tuple[str, _Source]]:
    yield name, _Source(file)
    if file.suffix.casefold() == ".zip" and not file.is_symlink() and file.is_file():
        prefix = f"{name}/" if "/" not in name else name.rpartition("/")[0] + "/"
        yield from _entries(file, prefix, MAX_ZIP_BYTES)


def _entries(file: Path, prefix: str, limit: int) -> Iterator[tuple[str, _Source]]:
    """Yield the files in a zip file. If the file is not a zip file, yield nothing."""
    try:
        with zipfile.ZipFile(io.BytesIO(_read(file, limit))) as archive:
            names = [one.filename for one in archive.infolist()[:MAX_ZIP_ENTRIES]]
    except (OSError, *ZIP_FAULTS):
        return
    for name in names:
        parts = PurePosixPath(name).parts
        if not name.endswith("/") and not any(_IGNORED.fullmatch(part) for part in parts):
            path = "/".join(part for part in parts if part not in ("/", ".."))
            yield prefix + path, _Source(file, name, limit)


def _submission(name: str, files: Mapping[str, _Source], exercise: Exercise) -> Submission:
    """Return the submission that is found under one name in the class's folder."""
    student, ids, attempt, original = parse_name(name, exercise)
    is_file = files.keys() == {""} and bool(original)
    if is_file:
        files = {original: files[""]}  # its name here is longer, and says whose it is
    files = {path: source for path, source in files.items() if path}
    if not files or list(files) == [""]:
        return Submission(
            student,
            name,
            None,
            "there is nothing in it: an empty folder, or a zip file that is broken",
            0,
            ids,
            attempt,
        )
    wanted, problem = _wanted(list(files), exercise)
    if not wanted:
        return Submission(student, name, None, problem, 0, ids, attempt)
    shown = name if is_file else f"{name}/{wanted}"
    try:
        content = files[wanted].read()
    except (OSError, *ZIP_FAULTS) as error:
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return Submission(student, shown, None, f"cannot be read: {text}", 0, ids, attempt)
    material = _material(files, exercise)
    return Submission(student, shown, content, "", material, ids, attempt)


def parse_name(name: str, exercise: Exercise) -> tuple[str, tuple[str, ...], str, str]:
    """Return the parts of a name in the class's folder: student, ids, attempt, file name."""
    for pattern in (_BLACKBOARD, _MOODLE, _CANVAS):
        if match := pattern.fullmatch(name):
            found = match.groupdict()
            ids = (found["id"],) if found.get("id") else ()
            original = found.get("file") or ""
            attempt = found.get("attempt") or ""
            if pattern is _CANVAS:  # a later attempt has -1, -2 … after its name
                stem, number, suffix = _resubmission(original)
                original, attempt = stem + suffix, f"{attempt} {number or 0}"
            return found["student"].strip(), ids, attempt, original
    stem, suffix = os.path.splitext(name)
    if suffix.casefold() not in (".py", ".zip"):
        return name, (), "", ""
    for joint in "_-":  # anna_timing_wheel.py
        stem = stem.removesuffix(joint + Path(exercise.file).stem)
    return stem, (), "", exercise.file if suffix.casefold() == ".py" else ""


def _resubmission(original: str) -> tuple[str, str, str]:
    stem, suffix = os.path.splitext(original)
    match = re.fullmatch(r"(.+?)-(\d+)", stem)
    return (match[1], match[2], suffix) if match else (stem, "", suffix)


def _wanted(paths: Sequence[str], exercise: Exercise) -> tuple[str, str]:
    """Return (the path of the student's file to grade, ""). If there is no such file, return ("",
    the reason).
    """
    named = [path for path in paths if path.rpartition("/")[2] == exercise.file]
    here = [path for path in named if f"/{exercise.id}/" in f"/{path}"]
    if here or named:
        return min(here or named, key=lambda path: (path.count("/"), path)), ""
    python = [path for path in paths if path.endswith(".py")]
    if len(python) == 1:
        return python[0], ""
    if not python:
        return "", f"no {exercise.file} was handed in"
    return "", f"none of the {len(python)} files is called {exercise.file}"


def _material(files: Mapping[str, _Source], exercise: Exercise) -> int:
    """Return the seed in the student's progress.json; 0 if there is none."""
    if not exercise.material:
        return 0
    for path, source in files.items():
        if path.rpartition("/")[2] == PROGRESS:
            try:
                record = parse(source.read()).get(exercise.id)
            except (OSError, RecursionError, *ZIP_FAULTS):
                continue
            if record is not None and 0 < record.seed < 1_000_000:
                return record.seed
    return 0


class Student(NamedTuple):
    """One student, from a row of the roster."""

    student: str
    """The student's name in the results: the first cell of the row."""
    cells: frozenset[str]
    """The cells of the row, without case, blanks and punctuation, so that names can be compared."""
    names: frozenset[str]
    """All names that a submission of this student may have, in the same form as the
    cells.
    """
    material: int


class Roster:
    """The list of a class: a CSV file with a line of headings.

    The first column names the student in the results. The other columns may hold other names, ids
    or e-mail addresses.
    """

    def __init__(self, file: Path) -> None:
        """Read the roster from a file. Raises SubmissionsError."""
        try:
            text = file.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise SubmissionsError(
                f"the roster {file} cannot be read ({error}): save it as CSV in UTF-8"
            ) from None
        rows = [row for row in csv.reader(io.StringIO(text)) if any(cell.strip() for cell in row)]
        if len(rows) < 2:
            raise SubmissionsError(
                f"the roster {file} has no students: it needs a line of headings, for example"
                " student,name,email, and then a line for each student"
            )
        headings = [cell.strip().casefold() for cell in rows[0]]
        self.students = [self._student(headings, row) for row in rows[1:]]

    def _student(self, headings: list[str], row: list[str]) -> Student:
        cells = dict(zip(headings, (cell.strip() for cell in row), strict=False))
        material = cells.pop("material", "")
        number = int(material) if material.isdecimal() else 0
        return Student(
            row[0].strip(),
            frozenset(name for cell in cells.values() for name in _exact(cell)),
            frozenset(name for cell in cells.values() for name in _names(cell)),
            number,
        )

    def find(self, submission: Submission) -> tuple[Student | None, str]:
        """Return the student who handed in the submission, and a remark if this is not certain.

        The name in the submission decides if only one student has this name. It is compared with
        the names in the roster, and then with the forms in which a learning system writes names.
        The id in the submission decides only if the name does not: a learning system has ids of its
        own, and such an id may be the roster's id of another student.
        """
        name = _fold(submission.student)
        named = [one for one in self.students if name in one.cells] or [
            one for one in self.students if name in one.names
        ]
        for number in submission.ids:
            numbered = [one for one in self.students if _fold(number) in one.cells]
            if len(numbered) == 1:
                break
        else:
            number, numbered = "", []
        odd = f"its number {number} is that of {numbered[0].student}" if numbered else ""
        if not named:
            return (numbered[0], f"{odd}; no name is {submission.student}") if odd else (None, "")
        if numbered and numbered[0] in named:
            return numbered[0], ""
        if len(named) == 1:
            return named[0], odd
        several = f"{len(named)} students are called {submission.student}"
        return None, "; ".join(filter(None, [several, odd]))

    def named(self, submission: Submission) -> Submission:
        """Return the submission with the student's name and material seed from the roster."""
        student, note = self.find(submission)
        if student is None:
            return submission._replace(note=note)
        material = student.material or submission.material
        return submission._replace(student=student.student, material=material, note=note)


def _exact(cell: str) -> Iterator[str]:
    """Yield the text of a roster's cell in a form in which names can be compared. For an e-mail
    address, also yield the part before the @.
    """
    yield _fold(cell)
    if "@" in cell:
        yield _fold(cell.partition("@")[0])


def _names(cell: str) -> Iterator[str]:
    """Yield the forms in which an LMS may write a name: `Anna Berg` is `berganna` in Canvas."""
    yield from _exact(cell)
    words = cell.replace(",", " ").split()
    for first in range(len(words)):
        yield _fold("".join(words[first:] + words[:first]))


def _fold(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())
