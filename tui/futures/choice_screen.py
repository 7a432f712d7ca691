"""The window that the key `f` opens, to choose the future that is shown next to the present one."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Footer, Label, OptionList

from kafka_edu.supervisor.cluster_folder import ClusterFolder

NONE_STORED = (
    "there is one future only. Go back in time (, or <) and act there: then the run has two"
)


class StoredFuture(NamedTuple):
    """A future of the run that was left, and its file."""

    number: int
    file: Path


def acts_of(file: Path) -> list[str]:
    """Return the acts of a future: those of its seed, and those by hand. Return [] if the file
    cannot be read.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    return [line.removeprefix("> at ") for line in lines if line.startswith("> at ")]


def stored_futures(folder: ClusterFolder, present: int) -> list[StoredFuture]:
    """Return the futures of a run that the user has left, the newest first."""
    found = [StoredFuture(*each) for each in folder.futures().items() if each[0] != present]
    return sorted(found, reverse=True)


class FutureChoiceScreen(ModalScreen[None]):
    """The list of stored futures. [enter] shows one next to the present future."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f,q", "dismiss", "back", key_display="esc")
    ]

    def __init__(
        self,
        present: int,
        acts: Sequence[str],
        stored: Sequence[StoredFuture],
        choose: Callable[[StoredFuture], None],
    ) -> None:
        """`acts` are the acts of the present future."""
        super().__init__()
        self._present = present
        self._stored = stored
        self._choose = choose
        self._list = OptionList(*(self._line(each, acts) for each in stored))

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Label(
                f"Future {self._present} and …, side by side", classes="title", markup=False
            )
            yield self._list
            yield Label("Each future is executed again from its file.", markup=False)
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self._list.focus()

    def _line(self, future: StoredFuture, present: Sequence[str]) -> Text:
        acts = acts_of(future.file)
        own = [act for act in acts if act not in present]
        without = [act for act in present if act not in acts]
        words = [f"with {act}" for act in own] + [f"without {act}" for act in without]
        return Text(f"future {future.number}: {', '.join(words) or 'the same acts up to now'}")

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        self.dismiss()
        self._choose(self._stored[message.option_index])

    async def action_dismiss(self, result: None = None) -> None:
        self.dismiss()
