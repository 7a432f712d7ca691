"""The simulated cluster of a chapter that a learner has left: its run, and when to continue.

The process of the cluster has ended. So the next start plays the run again, up to this time, with
all acts that the learner made by hand. With the same code, the run has the same facts again. After
a change of the code, the same seed may give a different run. Then `load` ignores the file, and the
chapter begins at its first page.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_edu.common.user_files import StateFile, state_folder
from kafka_edu.sim.scenario.explore import code_version
from kafka_edu.sim.scenario.language import parse

if TYPE_CHECKING:  # the module imports the whole dashboard
    from tui.presenter.run import Scene


def left_file(chapter: str) -> StateFile:
    """Return the file with the cluster of this chapter."""
    return StateFile(state_folder() / "presenter" / f"chapter-{chapter}-cluster.json")


class LeftCluster(NamedTuple):
    """A run, and the virtual time at which the step began that the learner has left."""

    text: str
    """The scenario of the run."""
    at_us: int

    @classmethod
    def of(cls, scene: "Scene", text: str, at_us: int) -> "LeftCluster":
        """Return the run of a scene, up to a time. `text` is the scenario with which it began."""
        state = scene.feed.simulation if scene.feed is not None else None
        if state is None or scene.folder is None:
            return cls(text, at_us)
        file = scene.folder.path / f"future-{state.future}.sim"
        if not file.exists():  # nobody has acted
            return cls(text, at_us)
        run = parse(file.read_text(encoding="utf-8"), file.name)
        acts = tuple(act for act in run.acts if state.run_us + 1_000 * act.at_ms <= at_us)
        return cls(run._replace(acts=acts).text(), at_us)

    @classmethod
    def load(cls, chapter: str, digest: str) -> "LeftCluster | None":
        """Return the cluster of a chapter, or None if there is none for this script and code."""

        def read(fields: Mapping[str, Any]) -> LeftCluster | None:
            if (fields["digest"], fields["code"]) != (digest, code_version()):
                return None
            return cls(str(fields["text"]), int(fields["at_us"]))

        return left_file(chapter).load(read)

    def save(self, chapter: str, digest: str) -> None:
        """Write the file. If that is not possible, the chapter begins at its first page again."""
        left_file(chapter).save({"digest": digest, "code": code_version(), **self._asdict()})

    @staticmethod
    def forget(chapter: str) -> None:
        """Delete the file, because it no longer fits the learner's place."""
        left_file(chapter).forget()
