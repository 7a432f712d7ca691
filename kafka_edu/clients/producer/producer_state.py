"""The states of an idempotent or transactional producer (Kafka: TransactionManager.State; KIP-98).

                          ┌────── the epoch is raised (KIP-360) ───────┐
                          ▼                                            │
    UNINITIALIZED → INITIALIZING → READY → IN_TRANSACTION → ABORTING_TRANSACTION → READY
          ↑                          │            │  │               ↑
          └─ the epochs are used up ─┘            │  │ an error      │ abort
                                                  │  └──→ ABORTABLE_ERROR
                                                  ▼            ↑ an error
                                        COMMITTING_TRANSACTION ┴→ READY

- UNINITIALIZED: the producer has no id.
- INITIALIZING: InitProducerId is sent until the coordinator or a broker answers it.
- READY: the producer has an id and an epoch. Without transactions, it sends in this state.
- IN_TRANSACTION: between the beginning and the end of a transaction. Records are sent.
- COMMITTING_TRANSACTION, ABORTING_TRANSACTION: the remaining records are sent (commit) or dropped
  (abort). Then EndTxn is sent until it is answered.
- ABORTABLE_ERROR: the transaction cannot be committed any more. It can be aborted.
- FATAL_ERROR: the producer can send nothing more. It can follow any state.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from kafka_edu.clients.client_errors import IllegalStateException
from kafka_edu.common.errors import KafkaException
from kafka_edu.record.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from kafka_edu.trace.events.producer import ProducerStateChanged
from kafka_edu.trace.tracer import Tracer


class State(StrEnum):
    """The state of a producer."""

    UNINITIALIZED = "UNINITIALIZED"
    INITIALIZING = "INITIALIZING"
    READY = "READY"
    IN_TRANSACTION = "IN_TRANSACTION"
    COMMITTING_TRANSACTION = "COMMITTING_TRANSACTION"
    ABORTING_TRANSACTION = "ABORTING_TRANSACTION"
    ABORTABLE_ERROR = "ABORTABLE_ERROR"
    FATAL_ERROR = "FATAL_ERROR"


#: state → the states that may come before it.
VALID_PREVIOUS_STATES: Final[Mapping[State, frozenset[State]]] = {
    State.UNINITIALIZED: frozenset({State.READY}),
    State.INITIALIZING: frozenset({State.UNINITIALIZED, State.ABORTING_TRANSACTION}),
    State.READY: frozenset(
        {State.INITIALIZING, State.COMMITTING_TRANSACTION, State.ABORTING_TRANSACTION}
    ),
    State.IN_TRANSACTION: frozenset({State.READY}),
    State.COMMITTING_TRANSACTION: frozenset({State.IN_TRANSACTION}),
    State.ABORTING_TRANSACTION: frozenset({State.IN_TRANSACTION, State.ABORTABLE_ERROR}),
    State.ABORTABLE_ERROR: frozenset(
        {State.IN_TRANSACTION, State.COMMITTING_TRANSACTION, State.ABORTABLE_ERROR}
    ),
    State.FATAL_ERROR: frozenset(State),
}


class Call(StrEnum):
    """A call of the program. Its value is the name of the method."""

    INIT_TRANSACTIONS = "init_transactions"
    BEGIN_TRANSACTION = "begin_transaction"
    SEND = "send"
    SEND_OFFSETS = "send_offsets_to_transaction"
    COMMIT_TRANSACTION = "commit_transaction"
    ABORT_TRANSACTION = "abort_transaction"


#: call → the states in which a transactional producer accepts it.
ACCEPTED_IN: Final[Mapping[Call, frozenset[State]]] = {
    Call.INIT_TRANSACTIONS: frozenset({State.UNINITIALIZED}),
    Call.BEGIN_TRANSACTION: VALID_PREVIOUS_STATES[State.IN_TRANSACTION],
    Call.SEND: frozenset({State.IN_TRANSACTION}),
    Call.SEND_OFFSETS: frozenset({State.IN_TRANSACTION}),
    Call.COMMIT_TRANSACTION: VALID_PREVIOUS_STATES[State.COMMITTING_TRANSACTION],
    Call.ABORT_TRANSACTION: VALID_PREVIOUS_STATES[State.ABORTING_TRANSACTION],
}

#: state → advice for a program whose call is refused in this state.
_WHAT_TO_DO: Final[Mapping[State, str]] = {
    State.UNINITIALIZED: "Await init_transactions() first.",
    State.INITIALIZING: "Await init_transactions() first.",
    State.READY: "Call begin_transaction() first.",
    State.IN_TRANSACTION: "Commit or abort the open transaction first.",
    State.COMMITTING_TRANSACTION: "Await commit_transaction() until it ends.",
    State.ABORTING_TRANSACTION: "Await abort_transaction() until it ends.",
}


class ProducerIdAndEpoch(NamedTuple):
    """A producer's id and epoch. Both are -1 if there is none."""

    producer_id: int = NO_PRODUCER_ID
    epoch: int = NO_PRODUCER_EPOCH


class ProducerState:
    """The state of one producer, with its id, its epoch, and its current error."""

    def __init__(self, client_id: str, trace: Tracer | None = None) -> None:
        self._client_id = client_id
        self._trace = trace
        self.state = State.UNINITIALIZED
        self.identity = ProducerIdAndEpoch()
        self.error: KafkaException | None = None
        """The error of ABORTABLE_ERROR or FATAL_ERROR. It stays while the producer aborts."""

    @property
    def is_fatal(self) -> bool:
        """Return whether the producer can send nothing more."""
        return self.state is State.FATAL_ERROR

    @property
    def is_ending(self) -> bool:
        """Return whether a transaction is being committed or aborted."""
        return self.state in (State.COMMITTING_TRANSACTION, State.ABORTING_TRANSACTION)

    @property
    def in_error(self) -> bool:
        """Return whether calls fail with `error`."""
        return self.state in (State.ABORTABLE_ERROR, State.FATAL_ERROR)

    @property
    def is_open(self) -> bool:
        """Return whether a transaction has begun and has not ended."""
        return self.is_ending or self.state in (State.IN_TRANSACTION, State.ABORTABLE_ERROR)

    def enter(self, state: State, reason: str, error: KafkaException | None = None) -> None:
        """Change the state. Raises ValueError for a change that is not in the table.

        `error` is the error of ABORTABLE_ERROR and FATAL_ERROR. If there are several errors, the
        first is kept. READY and UNINITIALIZED clear it.
        """
        if self.state not in VALID_PREVIOUS_STATES[state]:
            raise ValueError(f"a producer cannot go from {self.state} to {state}")
        before, self.state = self.state, state
        if state in (State.READY, State.UNINITIALIZED):
            self.error = None
        elif error is not None and (self.error is None or state is State.FATAL_ERROR):
            self.error = error
        if self._trace:
            self._trace(
                ProducerStateChanged(
                    client=self._client_id,
                    before=before,
                    after=state,
                    producer_id=self.identity.producer_id,
                    epoch=self.identity.epoch,
                    reason=reason,
                )
            )

    def check(self, call: Call) -> None:
        """Raise the producer's error, or IllegalStateException, if the call is not accepted now."""
        if self.state in ACCEPTED_IN[call]:
            return
        if self.in_error:
            assert self.error is not None
            raise self.error
        raise IllegalStateException(
            f"Cannot call {call} in state {self.state}.", _WHAT_TO_DO[self.state]
        )
