"""All screens, in the order of their keys."""

from typing import Final

from .cluster_screen import ClusterScreen
from .dashboard_screen import DashboardScreen
from .declaration import ScreenDeclaration
from .purgatory_screen import PurgatoryScreen
from .timeline_screen import TimelineScreen
from .wheels_screen import WheelsScreen

SCREENS: Final[tuple[type[DashboardScreen], ...]] = (
    ClusterScreen,
    WheelsScreen,
    PurgatoryScreen,
    TimelineScreen,
)
DECLARATIONS: Final[tuple[ScreenDeclaration, ...]] = tuple(screen.declaration for screen in SCREENS)
