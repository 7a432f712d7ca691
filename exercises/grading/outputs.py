"""Write grades to files: CSV for a spreadsheet or an LMS, JSON with every test, and JUnit XML."""

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from ..runner.manifest import Exercise
from .grade import Grade, Result

REASON_CHARACTERS: Final = 300
#: What XML 1.0 cannot hold.
_NOT_IN_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def one_line(text: str) -> str:
    """Return a text as one line without control characters, so that a terminal can show it
    safely.
    """
    line = " ".join(text.split())
    return "".join(letter if letter.isprintable() else "�" for letter in line)


def cell(text: str) -> str:
    """Return a text as a cell of a CSV file. No spreadsheet interprets the cell as a formula."""
    line = one_line(text)[:REASON_CHARACTERS]
    return f"'{line}" if line.startswith(("=", "+", "-", "@")) else line


def write_csv(file: Path, grades: Sequence[Grade]) -> None:
    """Write a CSV file with a row for each student. Raises OSError."""
    with file.open("w", encoding="utf-8", newline="", errors="replace") as output:
        writer = csv.writer(output)
        writer.writerow(
            ("student", "result", "points", "possible", "percent", "reason", "note", "file")
        )
        for grade in grades:
            graded = grade.result is not Result.NOT_GRADED
            writer.writerow(
                (
                    cell(grade.student),
                    grade.result,
                    f"{grade.earned:g}" if graded else "",
                    f"{grade.possible:g}" if graded else "",
                    f"{grade.percent:.0f}" if graded else "",
                    cell(grade.reason),
                    cell(grade.note),
                    cell(grade.path),
                )
            )


def write_json(file: Path, exercise: Exercise, seed: int, grades: Sequence[Grade]) -> None:
    """Write a JSON file with every test of each student. Raises OSError."""
    document = {
        "exercise": exercise.id,
        "seed": seed,
        "grades": [
            {
                "student": grade.student,
                "file": grade.path,
                "result": grade.result,
                "points": grade.earned,
                "possible": grade.possible,
                "reason": grade.reason,
                "note": grade.note,
                "tests": [row._asdict() for row in grade.rows],
            }
            for grade in grades
        ],
    }
    file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def write_junit(file: Path, exercise: Exercise, grades: Sequence[Grade]) -> None:
    """Write a JUnit file with a test suite for each student. Raises OSError."""

    def plain(text: str) -> str:
        return _NOT_IN_XML.sub("�", text)

    top = ElementTree.Element("testsuites", name=f"lab {exercise.id}")
    for grade in grades:
        suite = ElementTree.SubElement(
            top,
            "testsuite",
            name=plain(grade.student),
            tests=str(max(len(grade.rows), 1)),
            failures=str(sum(not row.passed for row in grade.rows)),
            errors="1" if grade.result is Result.NOT_GRADED else "0",
            time=f"{grade.seconds:.3f}",
        )
        for row in grade.rows:
            name = f"{row.part}.{row.test}"
            case = ElementTree.SubElement(
                suite, "testcase", classname=plain(grade.student), name=plain(name)
            )
            if not row.passed:
                message = plain(row.message)
                ElementTree.SubElement(case, "failure", message=message[:REASON_CHARACTERS])
        if grade.result is Result.NOT_GRADED:
            case = ElementTree.SubElement(
                suite, "testcase", classname=plain(grade.student), name="grade"
            )
            ElementTree.SubElement(case, "error", message=plain(grade.reason))
    ElementTree.ElementTree(top).write(file, encoding="utf-8", xml_declaration=True)
