"""A capture of frames: which clients' frames it holds, what it hides, and that it never breaks a
request.
"""

import gzip
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_edu.common.config_def import ConfigType
from kafka_edu.common.errors import Errors
from kafka_edu.instruments.wire.capture import (
    CaptureError,
    CaptureFollower,
    Frames,
    decode_captured,
    read_capture,
)
from kafka_edu.network import frame_capture
from kafka_edu.network.frame_capture import KEPT_BYTES, CaptureFile
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.capture_format import (
    CapturedFrame,
    decode_frame,
    encode_frame,
    encode_header,
)
from kafka_edu.protocol.headers import decode_request_header, encode_request
from kafka_edu.protocol.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResponse,
)
from kafka_edu.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from kafka_edu.protocol.messages.create_delegation_token import CreateDelegationTokenResponse
from kafka_edu.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from kafka_edu.protocol.schema import Message, structs_of
from kafka_edu.protocol.secrets import SECRET_FIELDS, is_secret_config, without_secrets
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.server.config.kafka_config_keys import CONFIG_DEF
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.events.network import (
    ConnectionFailed,
    FrameCaptureStarted,
    FrameCaptureStopped,
)

MIB = 1024 * 1024
SECRET = b"correct horse battery staple"
SESSION = Path(__file__).parents[2] / "tui" / "recordings" / "wire-session.capture.gz"


def frame(number: int, data: bytes = b"\0\0\0\x01x") -> CapturedFrame:
    return CapturedFrame(
        number, 1000 + number, 0, "c", False, "shop", 0, 9, number, len(data), data
    )


def request_of(message: Message, version: int) -> tuple[ApiKey, bytes, int]:
    """Return the API key, the frame without its size, and the position of the frame's body."""
    whole = b"".join(bytes(part) for part in encode_request(message, version, 7, "shop"))[4:]
    assert message.KEY is not None
    return message.KEY, whole, decode_request_header(whole)[1]


@pytest.mark.parametrize(
    ("message", "version", "hidden"),
    [
        (SaslAuthenticateRequest(auth_bytes=b"\0user\0" + SECRET), 0, "auth_bytes"),
        (SaslAuthenticateRequest(auth_bytes=b"\0user\0" + SECRET), 2, "auth_bytes"),
        (
            AlterUserScramCredentialsRequest(
                upsertions=[
                    ScramCredentialUpsertion(
                        name="alice",
                        mechanism=1,
                        iterations=4096,
                        salt=b"s",
                        salted_password=SECRET,
                    )
                ]
            ),
            0,
            "salted_password",
        ),
        (
            AlterConfigsRequest(
                resources=[
                    AlterConfigsResource(
                        resource_type=4,
                        resource_name="0",
                        configs=[
                            AlterableConfig(name="ssl.key.password", value=SECRET.decode()),
                            AlterableConfig(name="num.io.threads", value="16"),
                        ],
                    )
                ]
            ),
            1,
            "value",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Message) else None,
)
def test_secrets_of_requests_are_hidden_and_all_other_bytes_stay(
    message: Message, version: int, hidden: str
) -> None:
    key, whole, offset = request_of(message, version)
    assert SECRET in whole
    stored, names = without_secrets(key, version, whole, offset, is_response=False)
    assert SECRET not in stored
    assert hidden in names
    assert len(stored) == len(whole)
    differing = {stored[i] for i in range(len(whole)) if stored[i] != whole[i]}
    assert differing == {ord("*")}
    assert b"16" in stored or key is not ApiKey.ALTER_CONFIGS


def test_secrets_of_responses_are_hidden() -> None:
    for message in (
        CreateDelegationTokenResponse(hmac=SECRET, token_id="t"),
        SaslAuthenticateResponse(auth_bytes=SECRET),
    ):
        assert message.KEY is not None
        body = message.encode(1)
        stored, names = without_secrets(message.KEY, 1, b"12345678" + body, 8, is_response=True)
        assert SECRET not in stored
        assert names


def test_a_body_that_cannot_be_read_is_hidden_as_a_whole() -> None:
    key, whole, offset = request_of(SaslAuthenticateRequest(auth_bytes=SECRET), 0)
    for broken, version in ((whole[:-1], 0), (whole + b"more", 0), (whole, 9)):
        stored, names = without_secrets(key, version, broken, offset, is_response=False)
        assert stored == broken[:offset] + b"*" * (len(broken) - offset)
        assert names == ("body",)


def test_each_secret_field_exists() -> None:
    for key, names in SECRET_FIELDS.items():
        pair = REGISTRY[key]
        structs = [pair.request, pair.response]
        structs += [*structs_of(pair.request), *structs_of(pair.response)]
        assert names <= {field.name for struct in structs for field in struct.FIELDS}


def test_each_config_that_is_a_password_counts_as_a_secret() -> None:
    passwords = [key.name for key in CONFIG_DEF if key.type is ConfigType.PASSWORD]
    assert passwords
    assert [name for name in passwords if not is_secret_config(name)] == []
    assert is_secret_config("listener.name.inside.ssl.key.password")
    assert not is_secret_config("num.io.threads")


def test_a_line_gives_the_frame_again_and_nonsense_gives_none() -> None:
    one = frame(1)._replace(hidden=("auth_bytes",), client_id="日本\ud800")
    assert decode_frame(encode_frame(one)) == one
    line = encode_frame(one)
    for nonsense in (line[:-20], b"", b"[]", b"{}", b"\xff", b'{"kind":"request"}', b"[" * 9999):
        assert decode_frame(nonsense) is None


def test_the_file_is_bounded_and_a_follower_misses_nothing_when_it_rotates(tmp_path: Path) -> None:
    path = tmp_path / "frames"
    file = CaptureFile(path, MIB, 0)
    follower = CaptureFollower(path)
    seen: list[int] = []
    for number in range(1, 401):
        file.write(encode_frame(frame(number, bytes(4096))))
        if number % 7 == 0:
            seen += [one.number for one in follower.poll()]
    seen += [one.number for one in follower.poll()]
    assert seen == list(range(1, 401))
    assert path.stat().st_size + file.older.stat().st_size <= MIB
    kept = [one.number for one in read_capture(path)]
    assert kept == list(range(kept[0], 401))
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_follower_that_comes_late_reads_in_pieces_and_misses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "frames"
    file = CaptureFile(path, 64 * MIB, 0)
    for number in range(1, 801):
        file.write(encode_frame(frame(number, bytes(4096))))
    assert path.stat().st_size > 6 * MIB
    follower = CaptureFollower(path)
    polls = [[one.number for one in follower.poll()] for _ in range(6)]
    assert 0 < len(polls[0]) < 400
    assert [number for poll in polls for number in poll] == list(range(1, 801))


def test_what_a_killed_broker_left_is_read_up_to_its_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "frames"
    path.write_bytes(encode_header(0) + encode_frame(frame(1)) + encode_frame(frame(2))[:-30])
    assert [one.number for one in read_capture(path)] == [1]
    follower = CaptureFollower(path)
    assert [one.number for one in follower.poll()] == [1]
    with path.open("ab") as more:
        more.write(encode_frame(frame(2))[-30:])
    assert [one.number for one in follower.poll()] == [2]


def test_other_files_are_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "frames"
    for text in (b"", b"hello\n", b'{"format":"kafka-edu frames","version":99,"broker":0}\n'):
        path.write_bytes(text)
        with pytest.raises(CaptureError, match=r"not a capture|version 99"):
            read_capture(path)
    with pytest.raises(CaptureError, match="cannot be read"):
        read_capture(tmp_path / "missing")
    assert CaptureFollower(tmp_path / "missing").poll() == []


class World:
    """A broker in virtual time that captures the frames of some clients."""

    def __init__(self, path: Path, clients: str, max_bytes: int = MIB) -> None:
        self.path = path
        self.cluster = SimCluster(
            seed=1,
            broker_ids=[0],
            properties={
                "edu.capture.clients": clients,
                "edu.capture.file": str(path),
                "edu.capture.max.bytes": str(max_bytes),
            },
        )
        self.cluster.start_all()
        self.client = SimClient(self.cluster)
        assert self.run(self.client.create_topic("web", 1, 1)) is Errors.NONE

    def run(self, work):
        return self.cluster.run_as(self.client.process, work)

    async def _ask(self, client_id, request, version, response):
        client = NetworkClient(self.cluster.network.transport(), client_id)
        await client.connect("127.0.0.1", self.cluster.port(0), 1000)
        try:
            return await client.ask(request, version, response, 30_000)
        finally:
            client.close()

    def ask(self, client_id: str, request: Message, version: int, response: type[Message]):
        return self.run(self._ask(client_id, request, version, response))

    def produce(self, client_id: str, value: bytes) -> None:
        partition = PartitionProduceData(index=0, records=build_batch([Record(0, 9, None, value)]))
        request = ProduceRequest(
            acks=1,
            timeout_ms=1000,
            topic_data=[TopicProduceData(name="web", partition_data=[partition])],
        )
        response = self.ask(client_id, request, 9, ProduceResponse)
        assert response.responses[0].partition_responses[0].error_code == 0

    def fetch(self, client_id: str) -> FetchResponse:
        partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=MIB)
        request = FetchRequest(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=1,
            max_bytes=MIB,
            topics=[FetchTopic(topic="web", partitions=[partition])],
        )
        response: FetchResponse = self.ask(client_id, request, 11, FetchResponse)
        return response

    def alter(self, **configs: str) -> None:
        resource = AlterConfigsResource(
            resource_type=4,
            resource_name="",
            configs=[
                AlterableConfig(name=name.replace("_", "."), value=value)
                for name, value in configs.items()
            ],
        )
        response = self.ask(
            "admin", AlterConfigsRequest(resources=[resource]), 1, AlterConfigsResponse
        )
        assert response.responses[0].error_code == 0
        self.cluster.advance(1000)

    def told(self, kind):
        return [envelope.event for envelope in self.cluster.facts(kind)]


@pytest.fixture
def make_world(tmp_path: Path) -> Iterator[Callable[..., World]]:
    made: list[World] = []

    def make(clients: str, max_bytes: int = MIB) -> World:
        made.append(World(tmp_path / "frames", clients, max_bytes))
        return made[-1]

    yield make
    for world in made:
        world.cluster.close()


@pytest.mark.parametrize(
    ("spoil", "packed", "words"),
    [
        (lambda raw: raw[:-9], False, "its last line is not complete"),
        (lambda raw: raw[:-9], True, "its end is missing: the packed file was cut off"),
        (lambda raw: bytes([*raw[:-6], raw[-6] ^ 255, *raw[-5:]]), True, "cannot be unpacked"),
        (
            lambda raw: raw.replace(b"\n", b"\n\0noise\n", 2),
            False,
            "2 lines cannot be read and are",
        ),
    ],
)
def test_a_damaged_capture_is_read_as_far_as_it_goes_and_says_what_is_missing(
    tmp_path: Path, spoil: Callable[[bytes], bytes], packed: bool, words: str
) -> None:
    whole = gzip.decompress(SESSION.read_bytes())
    path = tmp_path / ("a.capture.gz" if packed else "a.capture")
    path.write_bytes(spoil(gzip.compress(whole) if packed else whole))
    said: list[str] = []
    frames = read_capture(path, said.append)
    assert frames == read_capture(SESSION)[: len(frames)]
    assert len(frames) > 10
    assert len(said) == 1
    assert words in said[0]
    assert said[0].startswith(f"{path}: ")


def test_requests_and_responses_of_chosen_clients_are_captured_in_pairs(make_world) -> None:
    world = make_world("shop,reader-*")
    for client_id in ("shop", "other", "reader-1", "shopper"):
        world.produce(client_id, b"hello")
    assert world.fetch("reader-2").responses
    frames = read_capture(world.path)
    assert [(f.client_id, f.is_response, f.api_key) for f in frames] == [
        ("shop", False, 0),
        ("shop", True, 0),
        ("reader-1", False, 0),
        ("reader-1", True, 0),
        ("reader-2", False, 1),
        ("reader-2", True, 1),
    ]
    held = Frames()
    held.add(frames)
    for request, response in zip(frames[::2], frames[1::2], strict=True):
        assert held.partner(request) is response
        assert held.partner(response) is request
        for one in (request, response):
            decoded = decode_captured(one)
            assert not decoded.problems
            assert (decoded.version, len(decoded.data)) == (one.api_version, one.size)
    fetched = decode_captured(frames[-1])  # its records come from the log's file
    values = [node.value for node in fetched.root.walk() if node.name == "value"]
    assert values == ['"hello"'] * 4
    (started,) = world.told(FrameCaptureStarted)
    assert (started.clients, started.file) == (("shop", "reader-*"), str(world.path))


def test_names_that_begin_with_a_minus_are_left_out(make_world) -> None:
    world = make_world("*,-shop,-reader-*")
    for client_id in ("shop", "shopper", "reader-1", ""):
        world.produce(client_id, b"hello")
    found = {f.client_id for f in read_capture(world.path) if f.api_key == ApiKey.PRODUCE}
    assert found == {"shopper", ""}


def test_without_clients_there_is_no_file_and_no_capture(make_world) -> None:
    world = make_world("")
    world.produce("shop", b"hello")
    assert not world.path.exists()
    server = world.cluster.brokers[0].running._socket_server
    assert server is not None
    assert all(processor.capture is None for processor in server.processors)


def test_a_change_of_the_configuration_starts_and_ends_a_capture(make_world) -> None:
    world = make_world("")
    world.alter(edu_capture_clients="*")
    world.produce("shop", b"one")
    world.alter(edu_capture_clients="shop")
    world.produce("shop", b"two")
    world.alter(edu_capture_clients="")
    world.produce("shop", b"three")
    texts = [
        f.data for f in read_capture(world.path) if f.client_id == "shop" and not f.is_response
    ]
    assert [b"one" in texts[0], b"two" in texts[1], len(texts)] == [True, True, 2]
    stopped = world.told(FrameCaptureStopped)
    assert [event.reason for event in stopped] == [
        "edu.capture.clients was changed",
        "edu.capture.clients is empty",
    ]


def test_a_client_cannot_choose_the_file(make_world, tmp_path: Path) -> None:
    world = make_world("")
    resource = AlterConfigsResource(
        resource_type=4,
        resource_name="",
        configs=[AlterableConfig(name="edu.capture.file", value=str(tmp_path / "elsewhere"))],
    )
    response = world.ask("x", AlterConfigsRequest(resources=[resource]), 1, AlterConfigsResponse)
    assert "Cannot update these configs dynamically" in response.responses[0].error_message


def test_a_full_disk_ends_the_capture_and_no_request(
    make_world, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world("shop")
    world.produce("shop", b"one")
    full = OSError(28, "No space left on device")
    monkeypatch.setattr(CaptureFile, "write", lambda *_: (_ for _ in ()).throw(full))
    world.produce("shop", b"two")
    monkeypatch.undo()
    world.produce("shop", b"three")
    (stopped,) = world.told(FrameCaptureStopped)
    assert stopped.frames == 2
    assert stopped.reason == f"{world.path} cannot be written: No space left on device"
    assert len(read_capture(world.path)) == 2


def test_a_bug_in_the_capture_ends_it_and_no_request(
    make_world, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = make_world("shop")
    world.produce("shop", b"one")
    monkeypatch.setattr(
        frame_capture, "encode_frame", lambda _: (_ for _ in ()).throw(KeyError("a bug"))
    )
    world.produce("shop", b"two")
    monkeypatch.undo()
    world.produce("shop", b"three")
    (stopped,) = world.told(FrameCaptureStopped)
    assert (stopped.frames, stopped.reason) == (
        2,
        "a frame could not be captured: KeyError: 'a bug'",
    )
    assert not world.told(ConnectionFailed)


def test_a_file_that_cannot_be_made_is_an_event(tmp_path: Path) -> None:
    world = World(tmp_path / "missing" / "frames", "shop")
    world.produce("shop", b"one")
    (stopped,) = world.told(FrameCaptureStopped)
    assert stopped.reason == "the file cannot be made: No such file or directory"
    world.cluster.close()


def test_long_frames_are_cut_and_decoded_as_far_as_they_go(make_world) -> None:
    world = make_world("shop", 4 * MIB)
    world.produce("shop", bytes(3 * KEPT_BYTES))
    request, response = read_capture(world.path)
    assert (len(request.data), request.is_cut, response.is_cut) == (KEPT_BYTES, True, False)
    decoded = decode_captured(request)
    (problem,) = decoded.problems
    assert problem.reason == (
        f"the capture holds only the first {KEPT_BYTES:,} of {request.size:,} bytes"
    )
    assert any(node.name == "topic_data" for node in decoded.root.walk())


class Stranger:
    """Sends bytes, and wants no answer; a WireReceiver."""

    def data_received(self, data: memoryview) -> None: ...
    def all_sent(self) -> None: ...
    def connection_lost(self, reason: str) -> None: ...


def test_broken_frames_are_captured_but_not_what_may_be_a_password(make_world) -> None:
    world = make_world("*")
    plain = b"\0user\0" + SECRET

    async def send(data: bytes) -> None:
        wire = await world.cluster.network.transport().connect(
            "127.0.0.1", world.cluster.port(0), lambda _: Stranger(), 1000
        )
        wire.send([data])
        await world.cluster.time.sleep(10)

    head = struct.pack(">ihhih", 14, 3, 9, 7, 99) + b"shop"
    for data in (
        b"\x7f\xff\xff\xff",
        struct.pack(">i", len(plain)) + plain,
        head,
        struct.pack(">ihhi", 8 + len(plain), 36, 0, 7) + plain,
    ):
        world.run(send(data))
    broken = [f for f in read_capture(world.path) if f.api_key == -1]
    assert [len(f.data) for f in broken[:3]] == [4, 6, len(head)]
    assert all(SECRET[:3] not in f.data for f in read_capture(world.path))
    first = [decode_captured(f).first_problem for f in broken[:3]]
    assert [problem is not None and (problem.at, problem.path) for problem in first] == [
        (0, "size"),
        (4, "header.api_key"),
        (12, "header.client_id.length"),
    ]


def test_hidden_fields_are_named_in_the_tree(make_world) -> None:
    world = make_world("*")
    world.ask("x", SaslAuthenticateRequest(auth_bytes=SECRET), 1, SaslAuthenticateResponse)
    request = next(f for f in read_capture(world.path) if f.api_key == 36)
    assert SECRET not in request.data
    node = next(n for n in decode_captured(request).root.walk() if n.name == "auth_bytes")
    assert node.value == "hidden: the broker stored * in place of a secret"
