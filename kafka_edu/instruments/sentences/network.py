"""Sentences for the events of the network layer."""

from kafka_edu.common.words import duration, joined, plural
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.instruments.sentences.words import api_name, micros, quiet, why
from kafka_edu.trace.events import network


@sentence.register
def connection_opened(e: network.ConnectionOpened) -> Sentence:
    return quiet(
        "a connection opens:",
        e.connection_id,
        exact=f"accepts connection {e.connection_id}",
    )


@sentence.register
def connection_closed(e: network.ConnectionClosed) -> Sentence:
    return Sentence(
        "a connection is closed:",
        e.connection_id,
        exact=f"connection {e.connection_id} is gone{why(e.reason)}",
        loud=False,
    )


@sentence.register
def connection_failed(e: network.ConnectionFailed) -> Sentence:
    return Sentence("✕ failed and closed a connection", after=f"while {e.doing}", reason=e.error)


@sentence.register
def frame_capture_started(e: network.FrameCaptureStarted) -> Sentence:
    return Sentence(f"captures the frames of {joined(e.clients) or 'no client'} (key 0, Wire)")


@sentence.register
def frame_capture_stopped(e: network.FrameCaptureStopped) -> Sentence:
    return Sentence(f"has captured {plural(e.frames, 'frame')} and stops", reason=e.reason)


@sentence.register
def connection_refused(e: network.ConnectionRefused) -> Sentence:
    return Sentence(f"refused a connection of {e.peer}", reason=e.reason)


@sentence.register
def accepting_paused(e: network.AcceptingPaused) -> Sentence:
    return Sentence(f"accepts no connection at {e.listener}", after="for now", reason=e.reason)


@sentence.register
def accepting_resumed(e: network.AcceptingResumed) -> Sentence:
    return Sentence(f"accepts connections at {e.listener} again")


@sentence.register
def request_received(e: network.RequestReceived) -> Sentence:
    of = f" of {e.client_id}" if e.client_id else ""
    return quiet(
        f"receives {api_name(e.api_key)}",
        after=f"from {e.client_id or '?'}",
        exact=(
            f"receives {api_name(e.api_key)} v{e.api_version} #{e.correlation_id}{of},"
            f" {e.size_bytes:,} bytes"
        ),
    )


@sentence.register
def response_sent(e: network.ResponseSent) -> Sentence:
    return quiet(
        f"answers {api_name(e.api_key)}",
        after=f"after {duration(e.total_us / 1000)}",
        exact=(
            f"answers {api_name(e.api_key)} #{e.correlation_id} after"
            f" {micros(e.total_us)}, {e.size_bytes:,} bytes"
        ),
    )
