"""Topic settings, quotas and credentials without effect are named in broker.log when a client sets
them.

The responses are the same as Kafka's.
"""

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.create_topics import (
    CreatableTopic,
    CreateableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafka_edu.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.sim_loop import SimProcess
from kafka_edu.tools import server_start
from kafka_edu.tools.config_entity import parse_entity
from kafka_edu.tools.configs import _without_effect
from kafka_edu.tools.topics import TopicCommand, TopicOptions

NO_EFFECT = "preallocate=true has no effect yet, because segments grow as they are written"


@pytest.fixture
def cluster():
    cluster = SimCluster(3, (1,), {"offsets.topic.replication.factor": "1"})
    cluster.start_all()
    yield cluster
    cluster.close()


def ask(cluster, request, version, response_type):
    async def body():
        client = NetworkClient(cluster.network.transport(), "admin")
        await client.connect("127.0.0.1", cluster.port(1), 1000)
        try:
            return await client.ask(request, version, response_type, 30_000)
        finally:
            client.close()

    return cluster.run_as(SimProcess("admin"), body())


def create(cluster, name, **configs):
    given = [
        CreateableTopicConfig(name=key.replace("_", "."), value=value)
        for key, value in configs.items()
    ]
    topic = CreatableTopic(
        name=name, num_partitions=1, replication_factor=1, assignments=[], configs=given
    )
    return ask(
        cluster, CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 4, CreateTopicsResponse
    ).topics[0]


def test_a_setting_without_effect_of_a_new_topic_is_named_once_in_broker_log(cluster, caplog):
    answer = create(cluster, "t", cleanup_policy="compact", preallocate="true", retention_ms="5")
    assert (answer.error_code, answer.error_message) == (Errors.NONE, None)
    told = [record.getMessage() for record in caplog.records if "topic t:" in record.getMessage()]
    assert told == [f"topic t: {NO_EFFECT}"]


def test_a_topic_that_is_altered_too(cluster, caplog):
    create(cluster, "t")
    caplog.clear()
    resource = AlterConfigsResource(
        resource_type=2,
        resource_name="t",
        configs=[AlterableConfig(name="preallocate", config_operation=0, value="true")],
    )
    answer = ask(
        cluster,
        IncrementalAlterConfigsRequest(resources=[resource]),
        1,
        IncrementalAlterConfigsResponse,
    )
    assert answer.responses[0].error_code == Errors.NONE
    assert [m for m in caplog.messages if m.startswith(f"topic t: {NO_EFFECT}")] != []


def test_internal_topics_are_not_named(cluster, caplog):
    server = cluster.brokers[1].running
    cluster.run_as(
        cluster.brokers[1].process, server._apis._admin.create_automatically("__consumer_offsets")
    )
    cluster.advance(1000)
    assert "__consumer_offsets" in {tp.topic for tp in server._log_manager.logs}
    assert [m for m in caplog.messages if "effect" in m or "in part" in m] == []


@pytest.mark.parametrize(
    ("kind", "name", "settings", "says"),
    [
        ("topics", "t", {"preallocate": "true"}, [NO_EFFECT]),
        ("topics", "__consumer_offsets", {"preallocate": "true"}, []),
        ("topics", "t", {"cleanup.policy": "compact"}, []),
        ("topics", "t", {"retention.ms": "5"}, []),
        (
            "brokers",
            "1",
            {"log.cleaner.io.buffer.size": "2", "num.io.thread": "2"},
            ["log.cleaner.io.buffer.size=2 has no effect yet", "did you mean num.io.threads?"],
        ),
        (
            "brokers",
            "1",
            {"leader.replication.throttled.rate": "5"},
            [],
        ),
        ("clients", "c", {"producer_byte_rate": "5"}, ["quotas are stored but not enforced"]),
        (
            "users",
            "u",
            {"SCRAM-SHA-256": "salt=c2FsdA==,stored_key=aHVzaA=="},
            ["SCRAM-SHA-256=[hidden] has no effect yet, because there is no SASL"],
        ),
    ],
)
def test_what_the_tool_configs_says(kind, name, settings, says):
    told = [
        str(met) for met in _without_effect(parse_entity([kind], [name], is_alter=True), settings)
    ]
    assert len(told) == len(says)
    assert all(part in line for part, line in zip(says, told, strict=True))


@pytest.mark.parametrize("name", ["t", "__consumer_offsets"])
def test_what_the_tool_topics_says_once(name, capsys):
    options = TopicOptions()
    words = [
        "--bootstrap-server",
        "h:1",
        "--create",
        "--topic",
        name,
        "--partitions",
        "1",
        "--replication-factor",
        "1",
    ]
    given = options.parser.parse([*words, "--config", "preallocate=true"])
    command = TopicCommand(options, given)
    for _ in range(2):
        assert command._configs_to_add() == {"preallocate": "true"}
    out, err = capsys.readouterr()
    assert out == ""
    expected = [f"WARNING: on kafka-edu's brokers {NO_EFFECT}."] if name == "t" else []
    assert err.splitlines() == expected


def test_a_broker_in_the_background_says_at_the_terminal_what_its_settings_lack(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("LOG_DIR", str(tmp_path / "logs"))
    started = []
    monkeypatch.setattr(
        server_start.subprocess, "Popen", lambda command, **_: started.append(command)
    )
    path = tmp_path / "server.properties"
    path.write_text("zookeeper.connect=h:1\nlog.cleaner.io.buffer.size=2\n")
    assert server_start.main(["-daemon", str(path), "--override", "num.partition=3"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(": ")[2].partition(":")[0] for line in lines] == [
        f"{path}, line 2",
        "--override num.partition",
    ]
    assert len(started) == 1
    assert server_start.main(["-daemon", str(path), "--override", "zookeeper.set.acl=true"]) == 1
    assert "the broker cannot start: --override zookeeper.set.acl: " in capsys.readouterr().err
    assert len(started) == 1
