"""Options of the sources that read files are checked at once, and files are found by folder."""

from pathlib import Path

import pytest

from kafka_edu.spark.file_options import (
    EVENT_OPTIONS,
    SEGMENT_OPTIONS,
    FileOption,
    checked,
    segment_files,
)
from kafka_edu.spark.source_errors import SourceOptionError

PAGE = Path(__file__).parents[3] / "docs" / "spark-files.md"


@pytest.mark.parametrize(
    ("table", "given", "said"),
    [
        (SEGMENT_OPTIONS, {"paths": "x"}, "option paths is not known: did you mean path?"),
        (SEGMENT_OPTIONS, {"row": "x"}, "option row is not known: did you mean rows?"),
        (
            SEGMENT_OPTIONS,
            {"path": "x", "rows": "batch"},
            "option rows is 'batch': it must be records, batches or index; did you mean batches?",
        ),
        (
            SEGMENT_OPTIONS,
            {"path": "x", "checkcrcs": "no"},
            "option checkCrcs is 'no': it must be true or false",
        ),
        (
            EVENT_OPTIONS,
            {"path": "x", "subscribe": "t"},
            "option subscribe is not known: docs/spark-files.md lists them all",
        ),
        (EVENT_OPTIONS, {}, 'no file is named: give it to load, as in .load("/data/web-0")'),
    ],
)
def test_a_wrong_option_is_refused_with_the_nearest_right_one(
    table: tuple[FileOption, ...], given: dict[str, str], said: str
) -> None:
    with pytest.raises(SourceOptionError) as refused:
        checked(given, table)
    assert str(refused.value) == said


def test_defaults_stand_where_nothing_is_given_and_case_does_not_matter() -> None:
    found = checked({"PATH": "/Data", "ROWS": "Index"}, SEGMENT_OPTIONS)
    assert found["path"] == "/Data"
    assert found["rows"] == "index"
    assert found["failOnDamage"] == "true"
    assert found["topic"] == ""


def log_dir(folder: Path) -> Path:
    """Make empty files, as a log dir has them."""
    for name in ("web-0", "web-1", "shop-0", f"web-2.{'a' * 32}-delete", "notes"):
        (folder / name).mkdir()
        for offset in (10, 0):
            (folder / name / f"{offset:020d}.log").touch()
            (folder / name / f"{offset:020d}.index").touch()
        (folder / name / f"{5:020d}.log.deleted").touch()
        (folder / name / "leader-epoch-checkpoint").touch()
    return folder


def test_segments_are_found_by_log_dir_folder_file_and_pattern(tmp_path: Path) -> None:
    folder = str(log_dir(tmp_path))

    def found(path: str, suffix: str = ".log", topic: str = "") -> list[tuple[str, int, int]]:
        files = segment_files(path, (suffix,), topic)
        return [(*file.partition, file.base_offset) for file in files]

    web_0 = [("web", 0, 0), ("web", 0, 10)]
    all_of_web = [*web_0, ("web", 1, 0), ("web", 1, 10)]
    assert found(folder) == [("shop", 0, 0), ("shop", 0, 10), *all_of_web]
    assert found(folder, topic="web") == all_of_web
    assert found(f"{folder}/web-0") == web_0
    assert found(f"file://{folder}/web-*") == all_of_web
    assert found(f"{folder}/web-0/{10:020d}.log") == [("web", 0, 10)]
    assert found(f"{folder}/web-0/{10:020d}.log", ".index") == [("web", 0, 10)]


@pytest.mark.parametrize(
    ("path", "topic", "said"),
    [
        ("nowhere", "", "nowhere does not exist: correct the path given to load"),
        ("", "wbe", "has no segment of topic wbe: did you mean web?"),
        ("notes", "", "has no .log file of a segment: give a log dir, or a folder like web-0"),
        (f"notes/{0:020d}.log", "", "is not in a folder like web-0"),
        ("hdfs://web-0", "", "reads files of this machine, so give a path without a scheme"),
    ],
)
def test_a_path_without_segments_is_refused(
    tmp_path: Path, path: str, topic: str, said: str
) -> None:
    place = path if "://" in path else f"{log_dir(tmp_path)}/{path}"
    with pytest.raises(SourceOptionError) as refused:
        segment_files(place, (".log",), topic)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_page_has_every_option_with_its_default() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for option in (*SEGMENT_OPTIONS, *EVENT_OPTIONS):
        default = f"`{option.default}`" if option.default else ""
        assert f"| `{option.name}` | {default} | {option.meaning}" in page
