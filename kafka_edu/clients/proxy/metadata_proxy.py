"""The rules of the proxy: which copy answers a client, and in which version (spec B1; book §6.5.2).

    ApiVersions        the APIs that the proxy serves: these three and no more.
                       Optionally all that the target serves, for clients that use the versions of
                       the first server for the whole cluster
    Metadata           from the copy of the cluster to which the routes lead this client
    FindCoordinator    from the same copy, if the proxy serves it. Otherwise the client
                       asks a broker, which it knows by then
    anything else      the proxy closes the connection, as a broker does for an API
                       that it does not serve

This module does no I/O: it turns a request into an answer. ProxyServer provides the copies.
Previous hop: ProxyServer. Next hop: the code that sends the answer.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from kafka_edu.clients.proxy.metadata_copy import MetadataCopy
from kafka_edu.clients.proxy.routes import Routes
from kafka_edu.clients.proxy.target import Target
from kafka_edu.cluster.metadata_response import metadata_error, requested_topics
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.api_versions_response import api_versions_error, api_versions_response
from kafka_edu.protocol.api_versions_table import API_LEVELS, VersionTable
from kafka_edu.protocol.headers import RequestHeader
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest
from kafka_edu.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_edu.protocol.messages.metadata import MetadataRequest
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ProtocolError, ReadBuffer
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.proxy import TargetSnapshot

_LATEST: Final = API_LEVELS["2.8"]


class Answer(NamedTuple):
    """A response, and the version in which to encode it.

    The version is that of the request, except if the client sent an unknown version of ApiVersions.
    """

    response: Message
    version: int
    target: str = ""
    topics: int = 0
    error: Errors = Errors.NONE


class Refusal(NamedTuple):
    """The request gets no answer, and the connection is closed. `reason` says why."""

    reason: str


class MetadataProxy:
    """The targets, the routes, and the rules of the proxy.

    Only the proxy's event loop uses this object.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        routes: Routes,
        *,
        find_coordinator: bool = False,
        target_versions: bool = False,
    ) -> None:
        """`find_coordinator` says whether the proxy also serves FindCoordinator.

        With `target_versions`, the ApiVersions response lists all APIs that the targets serve. If a
        client then uses an API that only the targets serve, the proxy closes the connection.
        """
        self.targets = {target.name: target for target in targets}
        self.routes = routes
        self._find_coordinator = find_coordinator
        self._target_versions = target_versions

    def versions(self, client_id: str) -> VersionTable:
        """Return the APIs and versions that this client may use.

        The routes lead this client to one or more clusters. The highest version of Metadata is the
        highest that all these clusters serve. Clusters that have not answered yet do not count.
        """
        _, highest = _LATEST[ApiKey.METADATA]
        for name in self.routes.reachable(client_id):
            copy = self.targets[name].copy
            if copy is not None:
                highest = min(highest, copy.version)
        table = {ApiKey.METADATA: (0, highest), ApiKey.API_VERSIONS: _LATEST[ApiKey.API_VERSIONS]}
        if self._find_coordinator:
            table[ApiKey.FIND_COORDINATOR] = _LATEST[ApiKey.FIND_COORDINATOR]
        return table

    def advertised(self, client_id: str) -> VersionTable:
        """Return the APIs of the ApiVersions response: those of `versions`.

        With `target_versions`, also return the APIs that all clusters of this client serve.
        """
        own = self.versions(client_id)
        copies = [
            copy
            for name in self.routes.reachable(client_id)
            if (copy := self.targets[name].copy) is not None
        ]
        if not self._target_versions or not copies:
            return own
        common = set.intersection(*(set(copy.apis) for copy in copies))
        theirs = {
            key: (
                max(copy.apis[key][0] for copy in copies),
                min(copy.apis[key][1] for copy in copies),
            )
            for key in common
        }
        return {key: (low, high) for key, (low, high) in theirs.items() if low <= high} | dict(own)

    def answer(
        self, header: RequestHeader, address: str, frame: ReadBuffer, body_offset: int
    ) -> Answer | Refusal:
        """Answer one request of a client at `address`. Its body begins at `body_offset` of `frame`.

        This method never raises an exception, no matter what a client sends.
        """
        client_id = header.client_id or ""
        versions = self.versions(client_id)
        served = versions.get(ApiKey(header.api_key))
        if served is None:
            return Refusal(f"{ApiKey(header.api_key).name} is not served: this is a metadata proxy")
        version = header.api_version
        if not served[0] <= version <= served[1]:
            if header.api_key == ApiKey.API_VERSIONS:
                return Answer(
                    api_versions_error(Errors.UNSUPPORTED_VERSION, versions),
                    0,
                    error=Errors.UNSUPPORTED_VERSION,
                )
            return Refusal(f"version {version} is not served, only {served[0]} to {served[1]}")
        try:
            match header.api_key:
                case ApiKey.API_VERSIONS:
                    response = api_versions_response(
                        ApiVersionsRequest.decode(frame, version, body_offset),
                        version,
                        self.advertised(client_id),
                    )
                    return Answer(response, version, error=Errors.of(response.error_code))
                case ApiKey.METADATA:
                    return self._metadata(
                        header, address, MetadataRequest.decode(frame, version, body_offset)
                    )
                case _:
                    return self._coordinator(
                        header, address, FindCoordinatorRequest.decode(frame, version, body_offset)
                    )
        except ProtocolError as error:
            return Refusal(f"unreadable body: {error}")

    def _metadata(
        self, header: RequestHeader, address: str, request: MetadataRequest
    ) -> Answer | Refusal:
        client_id, version = header.client_id or "", header.api_version
        try:
            names = requested_topics(request, version)
        except KafkaException as error:
            return Answer(metadata_error(request, error.error), version, error=error.error)
        chosen = self._target_for(client_id, address, names[0] if names else None)
        if isinstance(chosen, Refusal):
            return chosen
        target, copy = chosen
        response = copy.metadata(
            request,
            version,
            names,
            lambda topic: target in self.routes.clusters_for(client_id, topic),
        )
        return Answer(response, version, target, len(response.topics))

    def _coordinator(
        self, header: RequestHeader, address: str, request: FindCoordinatorRequest
    ) -> Answer | Refusal:
        chosen = self._target_for(header.client_id or "", address, None)
        if isinstance(chosen, Refusal):
            return chosen
        target, copy = chosen
        try:
            return Answer(
                copy.coordinator(request.key, request.key_type), header.api_version, target
            )
        except KafkaException as error:
            response = FindCoordinatorResponse(
                error_code=error.error, error_message=error.message, node_id=-1, host="", port=-1
            )
            return Answer(response, header.api_version, target, error=error.error)

    def _target_for(
        self, client_id: str, address: str, topic: str | None
    ) -> tuple[str, MetadataCopy] | Refusal:
        choice = self.routes.choose(
            client_id, address, topic, lambda name: self.targets[name].serves
        )
        copy = self.targets[choice.cluster].copy if choice.cluster is not None else None
        if choice.cluster is None or copy is None:
            return Refusal(choice.reason)
        return choice.cluster, copy

    def snapshot(self) -> Iterable[Event]:
        for target in self.targets.values():
            copy = target.copy
            brokers = tuple(broker.node_id for broker in copy.brokers) if copy else ()
            topics = len(copy.response.topics) if copy else 0
            yield TargetSnapshot(
                target=target.name,
                state=target.state,
                source=copy.source if copy else "",
                brokers=brokers,
                topics=topics,
                last_error=target.last_error,
            )
