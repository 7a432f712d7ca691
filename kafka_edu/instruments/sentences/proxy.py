"""Sentences for the events of the metadata proxy."""

from kafka_edu.common.words import duration, joined, plural
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.instruments.sentences.words import api_name, brokers, quiet
from kafka_edu.trace.events import proxy


@sentence.register
def proxy_started(e: proxy.ProxyStarted) -> Sentence:
    return Sentence(
        f"the proxy takes connections at {e.listener}",
        after=f"for {plural(len(e.targets), 'target')}: {joined(e.targets) or 'none'}",
        loud=False,
    )


@sentence.register
def metadata_copied(e: proxy.MetadataCopied) -> Sentence:
    return quiet(
        "copies the metadata of",
        f"target {e.target}",
        exact=(
            f"copies the metadata of target {e.target} from {e.source} in"
            f" {duration(e.took_ms)}: {brokers(e.brokers)}, {plural(e.topics, 'topic')},"
            f" {plural(e.partitions, 'partition')}"
        ),
    )


@sentence.register
def metadata_copy_failed(e: proxy.MetadataCopyFailed) -> Sentence:
    return Sentence(
        "cannot copy the metadata of",
        f"target {e.target}",
        f"({plural(e.failures, 'failure')} in a row); the last copy stays",
        e.reason,
        because=f"target {e.target} does not answer",
        loud=False,
    )


@sentence.register
def target_state_changed(e: proxy.TargetStateChanged) -> Sentence:
    return Sentence(
        "target",
        e.target,
        f"{e.before} → {e.after}",
        e.reason,
        because=f"target {e.target} is {e.after}",
        loud=False,
    )


@sentence.register
def proxy_answered(e: proxy.ProxyAnswered) -> Sentence:
    of = f" from the copy of {e.target}" if e.target else ""
    failed = "" if e.error in ("", "NONE") else f": {e.error}"
    return quiet(
        f"the proxy answers {api_name(e.api_key)}",
        exact=(
            f"the proxy answers {api_name(e.api_key)} v{e.api_version} #{e.correlation_id} of"
            f" {e.client_id or 'a client'}{of}, {plural(e.topics, 'topic')}{failed}"
        ),
    )


@sentence.register
def proxy_refused(e: proxy.ProxyRefused) -> Sentence:
    return Sentence(
        f"the proxy refuses {api_name(e.api_key)} v{e.api_version} of {e.client_id or 'a client'}",
        after="and closes its connection",
        reason=e.reason,
        loud=False,
    )


@sentence.register
def proxy_stopped(e: proxy.ProxyStopped) -> Sentence:
    served = sum(count for _, count in e.requests)
    return Sentence(
        "the proxy stops",
        after=(
            f"after {plural(served, 'request')}, {e.refused:,} refused, {e.bytes_in:,} bytes in,"
            f" {e.bytes_out:,} bytes out"
        ),
        reason=e.reason,
        loud=False,
    )
