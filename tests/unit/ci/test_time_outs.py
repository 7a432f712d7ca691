"""The time-out of pyproject.toml ends a test that hangs. A mark may only give a test longer: on a
busy machine any test may be slow.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_no_mark_gives_a_test_less_time_than_the_others_have() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    usual_s = settings["tool"]["pytest"]["ini_options"]["timeout"]
    assert isinstance(usual_s, int)
    for path in sorted((ROOT / "tests").rglob("*.py")):
        for given_s in re.findall(r"mark\.timeout\(([\d_]+)", path.read_text(encoding="utf-8")):
            assert int(given_s) > usual_s, f"{path.relative_to(ROOT)}: timeout({given_s})"
