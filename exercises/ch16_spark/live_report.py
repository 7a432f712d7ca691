"""The live part of 16-8s: the incident of 16-8 on a real cluster, and the learner's Spark job on
its recordings.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kafka_edu.learner.learner import LearnerFailure

from ..runner.manifest import Exercise
from ..runner.material import new_seed
from ..runner.public_tests import SPARK_LIMITS
from ..runner.spark_learner import Row, SparkLearner
from ..runner.verdict import Step
from .incident_answers import right_flaps, right_latency
from .live_incident import plan, record
from .live_streams import compared_rows

TABLES: Final = {
    "latency": ("api", "requests", "p50_us", "p99_us"),
    "flaps": ("partition", "broker", "began_us", "lasted_us", "act"),
}


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Make the incident, run the job on its recordings, and compare the two tables with the events.
    Raises ClusterError.
    """
    with tempfile.TemporaryDirectory(prefix="kafka-edu-", ignore_cleanup_errors=True) as name:
        recordings, out = Path(name) / "recordings", f"{name}/out"
        recordings.mkdir()
        events = record(plan(new_seed()), recordings, say, patience_s)
        right: dict[str, list[Row]] = {
            "latency": [(api, *times) for api, times in right_latency(events).items()],
            "flaps": [tuple(flap) for flap in right_flaps(events)],
        }
        say(f"your report on {len(events):,} events")
        learner = SparkLearner(
            file or exercise.solution, exercise.wanted, allowance=SPARK_LIMITS.call
        )
        try:
            learner.run_with(str(recordings), out, connector="python")
            yield Step("your report on the recordings", True, f"{len(events):,} events")
            for table, columns in TABLES.items():
                came = learner.read(f"{out}/{table}")
                if sorted(came.columns) != sorted(columns):
                    yield Step(table, False, f"its columns are {', '.join(came.columns)}")
                    continue
                rows = list(zip(*(came.column(one) for one in columns), strict=True))
                yield compared_rows(table, right[table], rows)
        except LearnerFailure as failure:
            yield Step("your report on the recordings", False, failure.message)
        finally:
            learner.close()
