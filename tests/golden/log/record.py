"""Record a log folder as a real broker writes it: `record.py BOOTSTRAP LOG_DIR TARGET`.

It needs a running Apache Kafka whose log dir is LOG_DIR. It makes the topic `golden` with small
segments and writes batches of every codec to it, idempotent and not. Then it copies the folder of
the running broker, which is what kill -9 would leave, to TARGET/running. After the broker was
stopped cleanly, run the program again with `after` as the last argument. It then copies the folder
to TARGET/clean.
"""

import json
import shutil
import sys
from pathlib import Path

from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient, NewTopic

TOPIC_CONFIG = {
    "segment.bytes": "4096",
    "index.interval.bytes": "256",
    "segment.index.bytes": "960",
    "retention.ms": "-1",
}


def produce(bootstrap: str) -> list[tuple[int, int, str, str]]:
    written: list[tuple[int, int, str, str]] = []

    def delivered(_: object, m: Message) -> None:
        written.append((m.offset(), m.timestamp()[1], m.key().decode(), m.value().decode()))

    for number, codec in enumerate(["none", "gzip", "snappy", "lz4", "zstd", "none"]):
        producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "compression.type": codec,
                "enable.idempotence": number % 2 == 1,
                "linger.ms": 5000,
            }
        )
        for batch in range(4):
            for i in range(batch * 3 + 1):
                key, value = f"k{i}", f"{codec}-{batch}-{i}-" + "x" * (20 * batch)
                timestamp = 1_600_000_000_000 + number * 60_000 + batch * 1000 + i
                headers = [("codec", codec)] if i == 0 else []
                producer.produce(
                    "golden",
                    value,
                    key,
                    timestamp=timestamp,
                    headers=headers,
                    on_delivery=delivered,
                )
            assert producer.flush(600) == 0
    return sorted(written)


def main() -> None:
    bootstrap, log_dir, target = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    if sys.argv[4:] == ["after"]:
        shutil.copytree(log_dir / "golden-0", target / "clean")
        return
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics(
        [NewTopic("golden", 1, 1, config=TOPIC_CONFIG)], operation_timeout=600, request_timeout=600
    )["golden"].result(600)
    (target / "records.json").write_text(
        json.dumps(produce(bootstrap), indent=0).replace(",\n", ",").replace("],[", "],\n[")
    )
    shutil.copytree(log_dir / "golden-0", target / "running")


main()
