"""Make up a class, so that a teacher can try `lab grade` before real submissions come.

There are 30 submissions (right, wrong, empty, copied and hostile) and a roster of 32 students. For
a Spark job, one of the right submissions is slow. The files are named as the students' computers,
Moodle, Canvas and Blackboard name them.
"""

import csv
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from ..runner.manifest import ROOT, Exercise
from ..runner.spark_learner import SPARK
from ..wrong_answers import wrong_answers
from .attacks import ATTACKS
from .spark_attacks import SPARK_ATTACKS, WRONG_JOB

ROSTER: Final = "roster.csv"
NAMES: Final = (
    *("Ada Berg", "Bo Chen", "Cleo Diaz", "Dan Evans", "Eva Frank", "Finn Gray", "Gita Hale"),
    *("Hugo Ito", "Ines Jung", "Jan Kowal", "Kim Lund", "Lea Marsh", "Max Nagy", "Nora Otto"),
    *("Omar Pace", "Pia Quinn", "Quan Rossi", "Rosa Stern", "Sam Tran", "Tess Udall", "Uma Vogel"),
    *("Vera Wolf", "Will Xu", "Xenia York", "Yan Zhou", "Zoe Adler", "Abel Brandt", "Bea Costa"),
    *("Carl Dietz", "Dora Engel", "Emil Falk", "Fay Gomez"),
)
HOSTILE: Final = (
    *("forged_report", "patched_pytest", "early_exit", "endless_loop", "fork_bomb", "memory"),
    *("deleted_folders", "hidden_tests", "others_work", "network", "output", "sys_modules"),
    "signals",
)
SPARK_HOSTILE: Final = (
    *("forged_report", "patched_pyspark", "stopped_context", "early_exit", "endless_loop"),
    *("fork_bomb", "memory", "memory_of_many", "hidden_tests", "solution", "others_work"),
    *("network", "output"),
)
#: Put behind a right Spark job, this makes each call slow. It stays within the limits.
SLOW: Final = """

quick = {wanted}


def {wanted}(*given):
    for _ in range(40_000_000):
        pass
    return quick(*given)
"""


class MadeUp(NamedTuple):
    """A made-up submission of one student."""

    kind: str
    """The kind of submission: right, slow, wrong, empty, copied or hostile."""
    content: str


def made_up(exercise: Exercise) -> list[MadeUp]:
    """Return 30 submissions: 6 right, 6 wrong, 2 empty, 3 copied, 13 hostile. For a Spark job, the
    last right one is slow.
    """
    right = exercise.solution.read_text(encoding="utf-8")
    wrong = [one.source() for one in wrong_answers(exercise)]
    shipped = ROOT.parent / "kafka_edu" / "timer" / "timing_wheel.py"
    last = MadeUp("right", f"{right}\n\nVERSION = 5\n")
    if exercise.engine == SPARK:
        last = MadeUp("slow", right + SLOW.format(wanted=exercise.wanted))
    return [
        *(MadeUp("right", f"{right}\n\nVERSION = {number}\n") for number in range(5)),
        last,
        *(MadeUp("wrong", f"{wrong[n % len(wrong)]}\n\nVERSION = {n}\n") for n in range(6)),
        MadeUp("empty", ""),
        MadeUp("empty", exercise.starter.read_text(encoding="utf-8")),
        MadeUp("copied", right),
        MadeUp("copied", "# all my own work\n" + f"{wrong[1 % len(wrong)]}\n\nVERSION = 1\n"),
        MadeUp("copied", shipped.read_text(encoding="utf-8")),
        *(
            MadeUp("hostile", source.replace("PORT", "9092"))
            for source in _hostile(exercise, wrong[0])
        ),
    ]


def _hostile(exercise: Exercise, wrong: str) -> Iterator[str]:
    """Yield the sources of hostile submissions. Each also has a wrong answer."""
    if exercise.engine == SPARK:
        spark_attacks = {attack.name: attack for attack in SPARK_ATTACKS}
        for name in SPARK_HOSTILE:
            source = WRONG_JOB + spark_attacks[name].source
            yield source.replace("def build(", f"def {exercise.wanted}(")
        return
    attacks = {attack.name: attack for attack in ATTACKS}
    for name in HOSTILE:
        yield attacks[name].source + wrong


def rehearse(folder: Path, exercise: Exercise) -> list[MadeUp]:
    """Write a made-up class into `folder`, which must be new or empty.

    Return the submissions, in the order of the roster. The last two students of the roster hand in
    nothing. Raises OSError.
    """
    work = folder / "submissions"
    work.mkdir(parents=True)
    submissions = made_up(exercise)
    for index, one in enumerate(submissions):
        other = work / f"{login(NAMES[0])}.py"
        content = one.content.replace("COURSE", str(ROOT.parent)).replace("OTHER", str(other))
        _put(work, index, content.encode(), exercise)
    with (folder / ROSTER).open("w", encoding="utf-8", newline="") as output:
        writer = csv.writer(output)
        writer.writerow(("student", "name", "number", "email"))
        for index, name in enumerate(NAMES):
            writer.writerow((login(name), name, 1000 + index, f"{login(name)}@school.example"))
    return submissions


def login(name: str) -> str:
    """Return the login of a made-up student, such as aberg for Ada Berg."""
    first, _, last = name.casefold().partition(" ")
    return first[0] + last


def _put(work: Path, index: int, content: bytes, exercise: Exercise) -> None:
    """Write one submission. The index determines how its file is named.

    The names take turns: plain files, folders, Moodle, Canvas, Blackboard and zip files.
    """
    name, file = NAMES[index], exercise.file
    first, _, last = name.partition(" ")
    match index % 6:
        case 0:
            (work / f"{login(name)}.py").write_bytes(content)
        case 1:
            lab = work / login(name) / "lab" / exercise.id
            lab.mkdir(parents=True)
            (lab / file).write_bytes(content)
        case 2:
            moodle = work / f"{name}_{1000 + index}_assignsubmission_file_"
            moodle.mkdir()
            (moodle / file).write_bytes(content)
        case 3:
            canvas = f"{last}{first}".casefold()
            (work / f"{canvas}_LATE_{1000 + index}_{5000 + index}_{file}").write_bytes(content)
        case 4:
            blackboard = f"Lab 2_{login(name)}_attempt_2026-11-20-10-15-{index:02}_{file}"
            (work / blackboard).write_bytes(content)
        case _:
            with zipfile.ZipFile(work / f"{login(name)}.zip", "w") as archive:
                archive.writestr(file, content)
