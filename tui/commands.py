"""The palette of commands (`:` or ctrl+p): screens, acts, and what else has a key."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from textual.command import DiscoveryHit, Hit, Hits, Provider

from kafka_edu.supervisor.act_table import ACTS, Parameter

from .screens.dashboard_screen import DashboardScreen
from .screens.registry import DECLARATIONS

if TYPE_CHECKING:
    from .app import DashboardApp

_WORDS: Final = {p.value: p.value.upper() for p in Parameter}


class _Entry(NamedTuple):
    title: str
    run: Callable[[], object]
    help: str


class DashboardCommands(Provider):
    """List the palette's commands on the present screen. The screen's own acts come first."""

    @property
    def _dashboard(self) -> "DashboardApp":
        from .app import DashboardApp

        assert isinstance(self.app, DashboardApp)
        return self.app

    def _entries(self) -> Iterator[_Entry]:
        app = self._dashboard
        if app.replay is None:
            yield _Entry("load: start or stop", app.action_load, "500 records a second (key l)")
            own = self.screen.declaration.acts if isinstance(self.screen, DashboardScreen) else ()
            for name in sorted(ACTS, key=lambda name: name not in own):
                act = ACTS[name]
                yield _Entry(
                    f"act: {act.title.format(**_WORDS)}",
                    partial(app.choose_act, name),
                    act.effect,
                )
        for each in DECLARATIONS:
            yield _Entry(
                f"screen: {each.title} ({each.key})",
                partial(app.action_look, each.name),
                each.question,
            )
        yield _Entry("about: what does this show?", app.action_about_screen, "key ?")
        yield _Entry("words: English and Chinese · 术语", app.show_words, "each with its meaning")
        yield _Entry("words: English or Chinese · 中文", app.action_glossary, "key g")
        yield _Entry("filter: only lines with these words", app.action_filter, "key /")
        yield _Entry("sort: by the next column", app.action_sort_lines, "key S; R turns it round")
        yield _Entry("theme: light or dark", app.action_dark, "key d")
        yield _Entry("slow motion: on or off", app.action_motion, "one record on its way (key m)")
        yield _Entry("time: faster", partial(app.action_speed, 1), "key +; - is slower")
        yield _Entry("time: back by 5 s", partial(app.action_wind, -5000), "key <; > goes on")
        yield _Entry("stops: breakpoints", app.action_breakpoints, "stop at an event (key b)")
        yield _Entry("quit", app.exit, "the cluster goes on (key q)")

    async def discover(self) -> Hits:
        """Yield everything, in the order of importance."""
        for entry in self._entries():
            yield DiscoveryHit(entry.title, entry.run, help=entry.help)

    async def search(self, query: str) -> Hits:
        """Yield what matches the typed words, the best first."""
        matcher = self.matcher(query)
        for entry in self._entries():
            score = matcher.match(entry.title) or matcher.match(entry.help) / 2
            if score > 0:
                yield Hit(score, matcher.highlight(entry.title), entry.run, help=entry.help)
