"""Files of the operating system: appends of any number of parts, memory maps and flushes."""

import errno
from pathlib import Path

import pytest

from kafka_edu.common.files import OsFileSystem


def test_an_append_of_more_parts_than_a_system_call_takes(tmp_path: Path) -> None:
    parts = [b"%d," % number for number in range(3_000)]
    file = OsFileSystem().open(str(tmp_path / "log"))
    assert file.append([b"head"]) == 0
    assert file.append(parts) == 4
    assert file.size() == 4 + sum(map(len, parts))
    file.close()
    assert (tmp_path / "log").read_bytes() == b"head" + b"".join(parts)


@pytest.mark.skipif(
    not Path("/proc/self/smaps").exists(),
    reason="what the kernel was told of a mapping is read from Linux's /proc/self/smaps",
)
def test_the_first_entry_of_an_index_reads_nothing_ahead(tmp_path: Path) -> None:
    """An index file is mapped at its full length, and is empty at first. If the kernel read ahead
    in this file, that would block the loop for a millisecond and fill the page cache.
    """
    file = OsFileSystem().open(str(tmp_path / "00000000000000000000.index"))
    file.truncate(10 << 20)
    mapping = file.map(10 << 20)
    mapping[0:8] = b"an entry"
    told = (
        Path("/proc/self/smaps")
        .read_text()
        .partition(str(tmp_path / "00000000000000000000.index"))[2]
    )
    found = dict(line.split(":", 1) for line in told.splitlines()[1:30] if ":" in line)
    mapping.close()
    file.close()
    assert "rr" in found["VmFlags"].split(), "madvise(MADV_RANDOM)"


def test_a_closed_file_is_not_flushed_but_says_so_as_a_disk_does(tmp_path: Path) -> None:
    """A worker flushes a segment while the loop closes it, because its log dir has just failed. The
    broker expects an OSError from the flush. Any other error would stop the broker.
    """
    file = OsFileSystem().open(str(tmp_path / "00.log"))
    file.close()
    with pytest.raises(OSError, match=r"00\.log") as raised:
        file.flush()
    assert (raised.value.errno, raised.value.filename) == (errno.EBADF, file.path)
