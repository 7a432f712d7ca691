"""How hypothesis chooses its examples: always the same in CI, and elsewhere at random."""

from collections.abc import Mapping
from typing import Final

from hypothesis import HealthCheck, settings

LOCAL: Final = "kafka-edu"
CI: Final = "ci"


def load(environment: Mapping[str, str]) -> None:
    """Load the profile `ci` if the variable CI is `true`, and otherwise `kafka-edu`."""
    # No deadline for one example: its time says more about the machine than about the code. The
    # time-out of the whole test ends a test that hangs.
    settings.register_profile(
        LOCAL,
        settings.get_profile("default"),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    # A change must not fail because of an old bug that its run was the first to find.
    settings.register_profile(
        CI, settings.get_profile(LOCAL), derandomize=True, database=None, print_blob=True
    )
    settings.load_profile(CI if environment.get("CI") == "true" else LOCAL)
