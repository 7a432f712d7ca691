"""The jobs of chapter 15. Our own producer and consumer do most of them, so their events go to the
dashboard.

    resets               breaks the clients' connections until a record is stored twice
    resets-idempotent    the same with enable.idempotence
    limits               sends one payment three times: again, to another partition, as another
                         producer
    forgotten-killed     kills a leader that has written five batches and answered none. The
                         producer is librdkafka's
    forgotten-stopped    stops such a leader cleanly (controlled shutdown)
    transfer             writes to two partitions in a transaction, which stays open
    commit               commits it
    abort                writes the same again, and aborts
    zombie               starts a second producer with the transactional id of the first
    hang                 kills a producer within a transaction, and waits for the end of that
    offsets-first        consumes, transforms and produces, killed after each step
    records-first        the same, but commits the offsets last
    transaction          the same with a transaction
    cost                 sends the same records in transactions of several sizes

A job stores where the logs end before it begins. So it may be repeated.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Final

from kafka_edu.trace.events.spark import JobStarted

from ..chapter import JobPlace, Program
from .idempotent_jobs import LIMITS, RESETS, IdempotentJobs
from .killed_transform import ORDERS
from .librdkafka_forgotten import FORGOTTEN, forget
from .transaction_jobs import TRANSACTION_JOBS, TransactionJobs
from .transform_jobs import TransformJobs

JOBS: Final[Mapping[str, str]] = {
    **RESETS,
    LIMITS: "send one payment three times, in three ways",
    **FORGOTTEN,
    **TRANSACTION_JOBS,
    **{name: f"be killed after each step: {order.words}" for name, order in ORDERS.items()},
}
#: Extra packages that the jobs need: none.
NEEDS: Final[tuple[str, ...]] = ()


@contextmanager
def open_jobs(place: JobPlace) -> Iterator[Callable[[str], None]]:
    """Yield the function that runs a job by its name."""
    idempotent = IdempotentJobs(place)
    transform = TransformJobs(place)
    with closing(TransactionJobs(place)) as transactions:

        def program(name: str) -> Program:
            if name in ORDERS:
                return transform.program(name)
            if name in TRANSACTION_JOBS:
                return transactions.program(name)
            return idempotent.program(name)

        run_program = place.runner(program)

        def run(name: str) -> None:
            if name in FORGOTTEN:
                place.emit(JobStarted(job=name))
                forget(place, name)
            else:
                run_program(name)

        yield run
