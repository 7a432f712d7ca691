"""The lag of a stream is the difference of two offsets that Spark reports."""

import json

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.spark.stream_lag import stream_lag, with_metrics

END = {"web": {"0": 150, "1": 150}, "topic ids": {"web": "cb3c06e0"}}
LATEST = {"web": {"0": 500, "1": 150, "2": 10}, "topic ids": {"web": "cb3c06e0"}}


def test_the_lag_is_what_the_latest_offset_is_ahead_of_the_end() -> None:
    for shown in (json.dumps, dict):
        lag = stream_lag({"endOffset": shown(END), "latestOffset": shown(LATEST), "metrics": {}})
        assert lag is not None
        assert lag.by_partition == {
            TopicPartition("web", 0): 350,
            TopicPartition("web", 1): 0,
            TopicPartition("web", 2): 10,
        }
        assert lag[:3] == (120.0, 350, 0)


def test_the_offsets_of_sparks_own_connector_have_no_topic_ids() -> None:
    lag = stream_lag({"endOffset": '{"web": {"0": 3}}', "latestOffset": '{"web": {"0": 9}}'})
    assert lag is not None
    assert lag.maxOffsetsBehindLatest == 6


def test_there_is_no_lag_before_the_first_batch() -> None:
    assert stream_lag({"endOffset": "null", "latestOffset": json.dumps(LATEST)}) is None
    assert stream_lag({"endOffset": None, "latestOffset": None}) is None
    assert stream_lag({"endOffset": END, "latestOffset": {}}) is None


def test_a_progress_gets_the_metrics_of_sparks_own_connector() -> None:
    theirs = {"endOffset": END, "latestOffset": LATEST, "metrics": {"minOffsetsBehindLatest": "7"}}
    files = {"endOffset": {"logOffset": 3}, "latestOffset": {"logOffset": 4}, "metrics": {}}
    nothing = {"endOffset": None, "latestOffset": None, "metrics": {}}
    ours = {"endOffset": json.dumps(END), "latestOffset": json.dumps(LATEST), "metrics": {}}
    progress = {"batchId": 3, "sources": [ours, theirs, files, nothing]}
    assert with_metrics(progress) == {
        "batchId": 3,
        "sources": [
            {
                **ours,
                "metrics": {
                    "avgOffsetsBehindLatest": "120.0",
                    "maxOffsetsBehindLatest": "350",
                    "minOffsetsBehindLatest": "0",
                },
            },
            theirs,
            files,
            nothing,
        ],
    }
    assert ours["metrics"] == {}
