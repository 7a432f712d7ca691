"""The form of an act: one field for each parameter, filled with the screen's selection."""

from collections.abc import Mapping
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, Label

from kafka_edu.supervisor.act_table import Act, Parameter, parse_values

_EXAMPLES: Final = {
    Parameter.BROKER: "a broker's id, such as 0",
    Parameter.OTHER: "another broker's id, such as 1",
    Parameter.TOPIC: "a topic, such as load",
    Parameter.PARTITION: "a partition, such as load-0",
    Parameter.PARTITIONS: "a number, such as 6; or the brokers of each, such as 1:2,2:0",
    Parameter.REPLICAS: "broker ids, such as 1,2,0; the first is the preferred leader",
    Parameter.SETTING: "KEY=VALUE, such as num.io.threads=1; KEY= removes the key",
    Parameter.CLIENTS: "ids, such as shop,reader-*. All: *,-broker-*. None: off",
    Parameter.DELAY_MS: "ms in each direction, such as 200",
    Parameter.STALL_MS: "ms that each stall lasts, such as 3000",
    Parameter.EVERY_MS: "ms from one stall to the next, such as 10000",
}


class ActScreen(ModalScreen[dict[str, int | str] | None]):
    """Asks for the parameters of one act. [enter] in the last field performs it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "back", key_display="esc"),
    ]

    def __init__(self, act: Act, known: Mapping[str, int | str]) -> None:
        super().__init__()
        self._act, self._known = act, known

    def compose(self) -> ComposeResult:
        with Vertical(classes="box form"):
            title = self._act.title_with({p.value: p.value.upper() for p in Parameter})
            yield Label(title, classes="title", markup=False)
            yield Label(self._act.effect, markup=False)
            for parameter in self._act.parameters:
                yield Input(
                    str(self._known.get(parameter.value, "")),
                    placeholder=_EXAMPLES[parameter],
                    id=parameter.value,
                )
            yield Label("", id="wrong", markup=False)
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        fields = list(self.query(Input))
        first = next((field for field in fields if not field.value), fields[0] if fields else None)
        if first is not None:
            first.focus()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        fields = list(self.query(Input))
        empty = next((field for field in fields if not field.value.strip()), None)
        if empty is not None:
            empty.focus()
            self.query_one("#wrong", Label).update(f"{empty.id} is missing: {empty.placeholder}")
            return
        try:
            values = parse_values(self._act, [field.value.strip() for field in fields])
        except ValueError as error:
            self.query_one("#wrong", Label).update(str(error))
            return
        self.dismiss(values)

    def action_cancel(self) -> None:
        self.dismiss(None)
