import json

import pytest

from kafka_edu.clients.proxy.recording import RecordingError, read_recording, write_recording
from tests.unit.clients.proxy.proxy_world import copy_of, partition

COPY = copy_of({"web": [partition(0, 1, [1, 2])]})


def test_what_was_recorded_is_played_back():
    assert read_recording(write_recording(COPY)) == COPY


def test_the_file_can_be_read_and_changed():
    document = json.loads(write_recording(COPY))
    assert document["metadata"]["brokers"][0] == {
        "node_id": 1,
        "host": "10.0.0.1",
        "port": 9093,
        "rack": "r1",
    }
    document["metadata"]["brokers"][0]["host"] = "kafka.invalid"
    del document["metadata"]["brokers"][0]["rack"]
    changed = read_recording(json.dumps(document).encode()).brokers[0]
    assert (changed.host, changed.rack) == ("kafka.invalid", None)


def changed(path, value):
    document = json.loads(write_recording(COPY))
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{", "it is not JSON"),
        (b"[]", 'it must be an object with "format"'),
        (changed(["format"], "another"), 'it must be an object with "format"'),
        (changed(["metadata_version"], 99), "metadata_version: 99 is not one of 0-11"),
        (
            changed(["api_versions", "FETCH"], [3, 2]),
            "api_versions.FETCH: must be the name of an API and [lowest, highest], not [3, 2]",
        ),
        (
            changed(["api_versions", "FLETCH"], [0, 2]),
            "api_versions.FLETCH: must be the name of an API",
        ),
        (changed(["metadata"], 5), "metadata: must be an object, not 5"),
        (
            changed(["metadata", "brokers"], {}),
            "metadata.brokers: must be of type []MetadataResponseBroker, not {}",
        ),
        (
            changed(["metadata", "brokers", 0, "port"], "9092"),
            "metadata.brokers[0].port: must be of type int32, not '9092'",
        ),
        (
            changed(["metadata", "brokers", 0, "port"], True),
            "metadata.brokers[0].port: must be of type int32, not True",
        ),
        (
            changed(["metadata", "brokers", 0, "host"], None),
            "metadata.brokers[0].host: must be of type string, not None",
        ),
        (
            changed(["metadata", "brokers", 0, "hots"], ""),
            (
                "metadata.brokers[0].hots: MetadataResponseBroker has no such field, only node_id,"
                " host"
            ),
        ),
        (
            changed(["metadata", "topics", 0, "topic_id"], "x"),
            "metadata.topics[0].topic_id: 'x' is not a UUID",
        ),
        (
            changed(["metadata", "topics", 0, "is_internal"], 1),
            "metadata.topics[0].is_internal: must be of type bool, not 1",
        ),
        (changed(["metadata", "controller_id"], 1 << 40), "MetadataResponse v10 cannot be encoded"),
    ],
)
def test_what_is_no_recording_is_refused_with_the_place(data, said):
    with pytest.raises(RecordingError) as told:
        read_recording(data)
    assert str(told.value).startswith(said)
