"""All screens, in the order of their keys."""

from typing import Final

from .client_screen import ClientScreen
from .cluster_screen import ClusterScreen
from .controller_screen import ControllerScreen
from .dashboard_screen import DashboardScreen
from .declaration import ScreenDeclaration
from .groups_screen import GroupsScreen
from .log_screen import LogScreen
from .moves_screen import MovesScreen
from .purgatory_screen import PurgatoryScreen
from .replication_screen import ReplicationScreen
from .requests_screen import RequestsScreen
from .timeline_screen import TimelineScreen
from .transactions_screen import TransactionsScreen
from .wheels_screen import WheelsScreen
from .wire_screen import WireScreen
from .zookeeper_screen import ZookeeperScreen

SCREENS: Final[tuple[type[DashboardScreen], ...]] = (
    ClusterScreen,
    WheelsScreen,
    PurgatoryScreen,
    ReplicationScreen,
    ControllerScreen,
    ZookeeperScreen,
    GroupsScreen,
    RequestsScreen,
    TimelineScreen,
    WireScreen,
    LogScreen,
    MovesScreen,
    ClientScreen,
    TransactionsScreen,
)
DECLARATIONS: Final[tuple[ScreenDeclaration, ...]] = tuple(screen.declaration for screen in SCREENS)
