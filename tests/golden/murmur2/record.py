"""Record Kafka's hashes of 10,000 keys: `python -m tests.golden.murmur2.record`.

Writes murmur2-2.8.2.bin: the values of Utils.murmur2 as int32, big endian, in the order of `keys`.
It needs Java and Kafka's jars.
"""

import tempfile
from pathlib import Path
from struct import pack
from typing import Final

from benchmarks.apache_kafka import kafka_jars, run_tool
from kafka_edu.common.maven_jars import compiled
from tests.golden.murmur2.keys import keys

HERE: Final = Path(__file__).parent
VERSION: Final = "2.8.2"


def recorded_by_java() -> bytes:
    """Return the hashes that the jar computes. Raises PeerMissing without Java or Maven."""
    jars = kafka_jars(VERSION)
    classes = compiled(HERE / "Murmur2.java", jars)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "keys"
        file.write_bytes(b"".join(bytes((len(key),)) + key for key in keys()))
        printed = run_tool(jars, "-cp", f"{jars}/*:{classes}", "Murmur2", str(file))
    return b"".join(pack(">i", int(line)) for line in printed.split())


if __name__ == "__main__":
    (HERE / f"murmur2-{VERSION}.bin").write_bytes(recorded_by_java())
