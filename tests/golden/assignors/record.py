"""Record Kafka's assignments of 1,000 groups: `python -m tests.golden.assignors.record`.

Writes range-2.8.2.bin and roundrobin-2.8.2.bin, with the first 8 bytes of the SHA-256 of each
printed assignment. Writes sticky-2.8.2.bin, with the moved partitions (uint16) and the balance
(uint32) of each, and cooperative-sticky-2.8.2.bin, with the number of partitions that are assigned
(uint16), big endian. It needs Java and Kafka's jars.
"""

import tempfile
from pathlib import Path
from struct import pack
from typing import Final

from benchmarks.apache_kafka import kafka_jars, run_tool
from kafka_edu.common.maven_jars import compiled
from tests.golden.assignors.groups import digest, groups

HERE: Final = Path(__file__).parent
VERSION: Final = "2.8.2"


def recorded_by_java() -> dict[str, bytes]:
    """Return the contents of the files. Raises PeerMissing without Java or Maven."""
    jars = kafka_jars(VERSION)
    classes = compiled(HERE / "Assignors.java", jars)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "groups"
        file.write_text("\n".join(group.line() for group in groups()))
        lines = run_tool(jars, "-cp", f"{jars}/*:{classes}", "Assignors", str(file)).splitlines()
    return {
        "range": b"".join(map(digest, lines[0::4])),
        "roundrobin": b"".join(map(digest, lines[1::4])),
        "sticky": b"".join(pack(">HI", *map(int, line.split())) for line in lines[2::4]),
        "cooperative-sticky": b"".join(pack(">H", int(line)) for line in lines[3::4]),
    }


if __name__ == "__main__":
    for name, content in recorded_by_java().items():
        (HERE / f"{name}-{VERSION}.bin").write_bytes(content)
