"""An index on a full disk raises an error that takes the log dir offline. It must not cause a
signal that ends the broker.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_edu.common.files import OsFileSystem
from tests.unit.log.test_offset_index import offset_index

#: Mounts a disk of 1 MB on its argument, makes two empty indexes of 10 MB there, which are holes,
#: fills the disk, and adds entries.
SCRIPT = """
import contextlib, sys
from pathlib import Path
from chapters.demo_parts.private_mounts import enter
from kafka_edu.common.files import OsFileSystem
from kafka_edu.log.offset_index import OffsetIndex
from kafka_edu.log.time_index import TimeIndex

folder = Path(sys.argv[1])
mounts = enter()
if mounts.refused:
    sys.exit("skip: " + mounts.refused)
mounts.small_disk(folder, 1024 * 1024)
offsets, times = (
    kind(OsFileSystem(), f"{folder}/0.{kind.__name__}", 0) for kind in (OffsetIndex, TimeIndex)
)
for index in (offsets, times):
    index.resize(10 * 1024 * 1024)
ballast = (folder / "ballast").open("wb", buffering=0)
with contextlib.suppress(OSError):
    while True:
        ballast.write(bytes(4096))
for append in (lambda: offsets.append(1, 1), lambda: times.maybe_append(1, 1)):
    try:
        append()
    except OSError as error:
        print(error.strerror)
(folder / "ballast").unlink()
ballast.close()
for n in range(1, 2000):
    offsets.append(n, n)
    times.maybe_append(n, n)
print(offsets.entries, offsets.lookup(1500).offset, times.entries, times.lookup(700).offset)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a small disk of its own needs Linux")
def test_an_entry_for_which_there_is_no_room_is_an_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if done.stderr.startswith("skip: "):
        pytest.skip(done.stderr.removeprefix("skip: ").strip())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "No space left on device",
        "No space left on device",
        "1999 1500 1999 700",
    ]


def test_an_index_holds_no_file_handle_once_it_is_unmapped(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    index = offset_index((OsFileSystem(), str(tmp_path)))
    index.append(3, 4)
    index.close()
    assert (len(os.listdir("/proc/self/fd")) if before else 0) == before
    assert index.lookup(5) == (3, 4), "it is mapped again when somebody looks"
