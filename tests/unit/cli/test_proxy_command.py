"""How `kafka-edu proxy` reads its options.

The proxy itself is tested in tests/unit/clients/proxy and tests/unit/sim.
"""

import errno
import os
import socket
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kafka_edu.cli.proxy_command import ADDRESS, Named, health_of, make_routes, make_targets, proxy
from kafka_edu.cli.proxy_process import TerminalSink
from kafka_edu.clients.proxy.health import TargetState
from kafka_edu.clients.proxy.recording import write_recording
from kafka_edu.clients.proxy.target import Address
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.trace.event import PROXY, Envelope
from kafka_edu.trace.events.proxy import (
    ProxyAnswered,
    ProxyRefused,
    ProxyStarted,
    ProxyStopped,
    TargetStateChanged,
)
from tests.unit.clients.proxy.proxy_world import copy_of, partition


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "meta.json"
    path.write_bytes(write_recording(copy_of({"web": [partition(0, 1, [1])]})))
    return path


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("h:1", Address("h", 1)),
        ("[::1]:9092", Address("::1", 9092)),
        ("0.0.0.0:0", Address("0.0.0.0", 0)),
    ],
)
def test_addresses(text, address):
    assert ADDRESS.convert(text, None, None) == address


@pytest.mark.parametrize(
    "text", ["", "h", "h:", ":9092", "h:x", "h:65536", "h:-1", "::1:9092", "h:²"]
)
def test_what_is_no_address(text):
    with pytest.raises(click.BadParameter, match=r"is not HOST:PORT, as 127\.0\.0\.1:9092"):
        ADDRESS.convert(text, None, None)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a=h:1", ("a", "h:1")),
        ("h:1", ("", "h:1")),
        ("my-east_2=h:1", ("my-east_2", "h:1")),
        ("/tmp/a=b", ("", "/tmp/a=b")),
        ("=h:1", ("", "=h:1")),
    ],
)
def test_names_before_targets(text, named):
    assert Named("HOST:PORT").convert(text, None, None) == named


def test_targets_are_named_numbered_and_told_apart(recording):
    targets = make_targets([("", "h:1,h:2"), ("east", "h:3")], [("", str(recording))], None)
    assert [(t.name, t.state) for t in targets] == [
        ("cluster-1", TargetState.UNKNOWN),
        ("east", TargetState.UNKNOWN),
        ("cluster-3", TargetState.RECORDED),
    ]
    assert targets[0].to_ask() == [Address("h", 1), Address("h", 2)]
    with pytest.raises(click.UsageError, match="two clusters are called east"):
        make_targets([("east", "h:1"), ("east", "h:2")], [], None)


def test_rules_of_options_go_before_those_of_the_file_and_errors_say_where(tmp_path, recording):
    targets = make_targets([("a", "h:1"), ("b", "h:2")], [], None)
    file = tmp_path / "routes.txt"
    file.write_text("# comment\n\nto=a,b\n")
    routes = make_routes(["client=x to=b"], file, targets)
    assert [str(route) for route in routes.routes] == ["client=x to=b", "client=* to=a,b"]
    file.write_text("to=a\nclient=y to=c\n")
    with pytest.raises(click.ClickException) as told:
        make_routes([], file, targets)
    assert told.value.message == f"{file}, line 2: there is no cluster c, only a, b"
    with pytest.raises(click.ClickException, match="cannot read"):
        make_routes([], tmp_path / "nowhere", targets)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--listen", "127.0.0.1:0"],
            "no cluster is named: give --target HOST:PORT, or --replay FILE",
        ),
        (["--target", "127.0.0.1:1"], "no address to listen on: give --listen HOST:PORT"),
        (
            ["--target", "a=h:1", "--target", "b=h:1", "--record", "x"],
            "--record copies one cluster: give exactly one --target",
        ),
        (
            ["--replay", "nowhere.json", "--listen", "127.0.0.1:0"],
            "cannot read nowhere.json: No such file or directory",
        ),
    ],
)
def test_options_that_make_no_proxy(options, said):
    result = CliRunner().invoke(proxy, options)
    assert result.exit_code != 0
    assert said in result.output


def test_a_file_that_is_no_recording(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("[]")
    result = CliRunner().invoke(proxy, ["--replay", str(path), "--listen", "127.0.0.1:0"])
    assert result.exit_code == 1
    assert f"{path} is not a recording of metadata: it must be an object" in result.output


def test_health_of_a_recording_and_of_nobody(recording):
    result = CliRunner().invoke(proxy, ["--replay", str(recording), "--health"])
    assert result.exit_code == 0
    assert (
        result.output
        == "cluster-1  Recorded  10.0.0.1:9093 says: cluster cluster-a, controller 1, brokers 1 at"
        " 10.0.0.1:9093, 2 at 10.0.0.1:9094; 1 topic, 1 partition, Metadata up to version 11\n"
    )
    result = CliRunner().invoke(
        proxy, ["--target", "nobody=127.0.0.1:1", "--health", "--timeout-ms", "2000"]
    )
    assert result.exit_code == 1
    assert result.output.startswith("nobody  Down  127.0.0.1:1: ")


def test_nothing_is_recorded_when_nobody_answers(tmp_path: Path):
    path = tmp_path / "meta.json"
    result = CliRunner().invoke(proxy, ["--target", "127.0.0.1:1", "--record", str(path)])
    assert result.exit_code == 1
    assert "no broker of cluster-1 gave its metadata: 127.0.0.1:1: " in result.output
    assert not path.exists()


def test_a_target_that_was_not_asked_yet():
    (target,) = make_targets([("a", "h:1")], [], None)
    assert health_of(target) == "a  Unknown  "


def test_a_port_that_is_taken(recording):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(
            proxy, ["--replay", str(recording), "--listen", f"127.0.0.1:{port}"]
        )
    assert result.exit_code == 1
    assert (
        f"the proxy cannot start: cannot listen on 127.0.0.1:{port}:"
        f" {os.strerror(errno.EADDRINUSE)}\n" in result.output
    )


def test_events_that_cannot_be_written(recording, tmp_path):
    file = tmp_path / "nowhere" / "events"
    result = CliRunner().invoke(
        proxy, ["--replay", str(recording), "--listen", "127.0.0.1:0", "--events", str(file)]
    )
    assert result.exit_code == 1
    assert result.output.endswith(
        f"\nthe proxy cannot start: cannot write {file}: No such file or directory\n"
    )


def test_the_proxys_doings_as_lines():
    said = []
    sink = TerminalSink(said.append)
    for event in (
        ProxyStarted(listener="[::1]:9999", targets=("east",), routes=("client=* to=east",)),
        TargetStateChanged(target="east", before="Up", after="Down", reason="nobody answers"),
        ProxyRefused(
            connection_id="c",
            correlation_id=1,
            client_id="",
            api_key=ApiKey.PRODUCE,
            api_version=7,
            reason="PRODUCE is not served: this is a metadata proxy",
        ),
        ProxyAnswered(
            connection_id="c",
            correlation_id=1,
            client_id="web",
            api_key=ApiKey.METADATA,
            api_version=7,
            target="east",
            topics=1,
            error="NONE",
        ),
        ProxyStopped(
            reason="SIGTERM",
            requests=((3, 1200), (18, 2)),
            refused=1,
            bytes_in=40_000,
            bytes_out=5_000_000,
        ),
    ):
        sink.accept(Envelope(PROXY, 1, 0, 0, 0, event))
    assert said == [
        "the proxy listens on [::1]:9999: give it to clients as bootstrap.servers",
        "east: Up → Down: nobody answers",
        "client (no id) refused on PRODUCE: PRODUCE is not served: this is a metadata proxy",
        (
            "stopped by SIGTERM; answered: METADATA 1,200, API_VERSIONS 2; refused: 1; 40,000 bytes"
            " came in, 5,000,000 went out"
        ),
    ]
