"""Files of the operating system: what an append promises, also where one system call cannot do it."""

from pathlib import Path

from kafka_edu.common.files import OsFileSystem


def test_an_append_of_more_parts_than_a_system_call_takes(tmp_path: Path) -> None:
    parts = [b"%d," % number for number in range(3_000)]
    file = OsFileSystem().open(str(tmp_path / "log"))
    assert file.append([b"head"]) == 0
    assert file.append(parts) == 4
    assert file.size() == 4 + sum(map(len, parts))
    file.close()
    assert (tmp_path / "log").read_bytes() == b"head" + b"".join(parts)
