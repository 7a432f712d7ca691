"""Define and check the options of the two data sources that read files, and find their files.

`SEGMENT_OPTIONS` and `EVENT_OPTIONS` are the tables of options. docs/spark-files.md shows them.
`checked` refuses an option that is unknown or has a wrong value, with a message of one line.
"""

import difflib
import glob
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log_file_names import offset_of, parse_topic_partition
from kafka_edu.spark.source_errors import SourceOptionError

PAGE: Final = "docs/spark-files.md"


class FileOption(NamedTuple):
    """One option of a data source: a row of a table of options."""

    name: str
    words: tuple[str, ...]
    """The allowed values. If it is empty, any text is allowed."""
    default: str
    """The default value. Empty if there is no default."""
    meaning: str


_FLAG: Final = ("true", "false")
_PATH: Final = "path"

SEGMENT_OPTIONS: Final = (
    FileOption(
        _PATH,
        (),
        "",
        "A folder of one partition, a log dir with such folders, one file, or a pattern with `*`."
        " `load(path)` sets it.",
    ),
    FileOption("topic", (), "", "Read this topic only."),
    FileOption(
        "rows",
        ("records", "batches", "index"),
        "records",
        "A row is a record, a batch, or an entry of an offset index or time index.",
    ),
    FileOption("includeHeaders", _FLAG, "false", "Add the column `headers` to records."),
    FileOption(
        "checkCrcs",
        _FLAG,
        "true",
        "Check the checksum of each batch. A batch row has the result in `crcRight`.",
    ),
    FileOption(
        "decompress",
        _FLAG,
        "false",
        "Fill the column `uncompressedBytes` of batches. It costs the time of decompressing.",
    ),
    FileOption(
        "failOnDamage",
        _FLAG,
        "true",
        "Stop at a damaged or cut file. With false, read what can be read and log the rest.",
    ),
)

EVENT_OPTIONS: Final = (
    FileOption(
        _PATH,
        (),
        "",
        "A recording, a folder of recordings, or a pattern with `*`. `load(path)` sets it.",
    ),
    FileOption("events", (), "", "Keep events of these names only, separated by commas."),
    FileOption(
        "fields",
        ("json", "map"),
        "json",
        "The column `fields` is a text of JSON, or a map of texts.",
    ),
    FileOption(
        "failOnDamage",
        _FLAG,
        "true",
        "Stop at a damaged or cut file. With false, read what can be read and log the rest.",
    ),
)


def nearest(wrong: str, right: Iterable[str]) -> str | None:
    """Return the name that is most similar to a wrong name, or None if none is similar. Upper and
    lower case count as the same.
    """
    by_lower = {name.lower(): name for name in right}
    found = difflib.get_close_matches(wrong.lower(), by_lower, 1, 0.6)
    return by_lower[found[0]] if found else None


def checked(given: Mapping[str, str], table: tuple[FileOption, ...]) -> dict[str, str]:
    """Return the text of every option of the table by name. An option that is not set and has no
    default gets "".

    Upper and lower case count as the same in names and in fixed values. Raises SourceOptionError
    for the first option that is unknown, wrong or missing.
    """
    known = {option.name.lower(): option for option in table}
    found = {option.name: option.default for option in table}
    for name, text in given.items():
        option = known.get(name.lower())
        if option is None:
            near = nearest(name, found)
            hint = f"did you mean {near}?" if near else f"{PAGE} lists them all"
            raise SourceOptionError(f"option {name} is not known: {hint}")
        if option.words and text.lower() not in option.words:
            allowed = f"{', '.join(option.words[:-1])} or {option.words[-1]}"
            near = nearest(text, option.words)
            hint = f"; did you mean {near}?" if near else ""
            raise SourceOptionError(f"option {option.name} is {text!r}: it must be {allowed}{hint}")
        found[option.name] = text.lower() if option.words else text
    if not found[_PATH].strip():
        raise SourceOptionError('no file is named: give it to load, as in .load("/data/web-0")')
    return found


def matching(path: str) -> list[Path]:
    """Return the files and folders that a path or a pattern selects. Raises SourceOptionError if
    there are none.
    """
    plain = path.removeprefix("file://")
    if "://" in plain:
        raise SourceOptionError(
            f"option path is {path!r}: this source reads files of this machine, so give a path"
            " without a scheme"
        )
    found = [Path(plain)] if Path(plain).exists() else [Path(p) for p in sorted(glob.glob(plain))]
    if not found:
        raise SourceOptionError(f"{plain} does not exist: correct the path given to load")
    return found


class SegmentFile(NamedTuple):
    """One file of a segment: the log file with its batches, or one of its index files."""

    path: str
    partition: TopicPartition
    base_offset: int
    bytes: int

    @property
    def name(self) -> str:
        return Path(self.path).name


def _of_partition(path: Path) -> TopicPartition | None:
    """Return the partition to which a file belongs, from the name of the file's folder. Return None
    if the name is not that of a partition.
    """
    return parse_topic_partition(path.resolve().parent.name)


def segment_files(path: str, suffixes: tuple[str, ...], topic: str = "") -> list[SegmentFile]:
    """Return the segment files with these suffixes that a path selects, sorted by partition and
    offset.

    If `topic` is given, only its files are returned. Raises SourceOptionError if there are none.
    """
    candidates: list[Path] = []
    for place in matching(path):
        if place.is_dir():
            folders = [place, *sorted(one for one in place.iterdir() if one.is_dir())]
            for folder in folders:
                if parse_topic_partition(folder.resolve().name) is not None:
                    candidates += folder.iterdir()
        else:
            # With rows=index and a path to a .log file, the index files in the same folder are
            # meant.
            candidates += [
                other
                for other in place.parent.glob(f"{place.stem}.*")
                if other == place or (place.suffix not in suffixes and other.suffix in suffixes)
            ]
    found = []
    topics = set()
    for file in candidates:
        base, partition = offset_of(file.name), _of_partition(file)
        if file.suffix not in suffixes or base is None or len(file.stem) != 20:
            continue
        if partition is None:
            raise SourceOptionError(
                f"{file} is not in a folder like web-0, and the folder names topic and partition:"
                " give the path of a file in a log dir"
            )
        topics.add(partition.topic)
        if topic in ("", partition.topic):
            found.append(SegmentFile(str(file), partition, base, file.stat().st_size))
    if topic and topics and topic not in topics:
        near = nearest(topic, topics)
        raise SourceOptionError(
            f"{path} has no segment of topic {topic}: "
            + (f"did you mean {near}?" if near else f"it has {', '.join(sorted(topics))}")
        )
    if not found:
        raise SourceOptionError(
            f"{path} has no {' or '.join(suffixes)} file of a segment: give a log dir, or a"
            " folder like web-0 in it"
        )
    return sorted(found, key=lambda one: (one.partition, one.base_offset, one.path))
