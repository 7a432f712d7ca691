"""murmur2 gives the values that Java's gives, for 10,000 keys recorded from Kafka 2.8.2's jar."""

from pathlib import Path
from struct import iter_unpack

from kafka_edu.common.murmur2 import murmur2, partition_of_key
from tests.golden.murmur2.keys import keys

GOLDEN = Path(__file__).parents[2] / "golden" / "murmur2" / "murmur2-2.8.2.bin"


def test_murmur2_is_that_of_java() -> None:
    recorded = [value for (value,) in iter_unpack(">i", GOLDEN.read_bytes())]
    assert len(recorded) == len(keys()) == 10_000
    for key, value in zip(keys(), recorded, strict=True):
        assert murmur2(key) == value & 0xFFFFFFFF, key
        assert partition_of_key(key, 7) == (value & 0x7FFFFFFF) % 7
