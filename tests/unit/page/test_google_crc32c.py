"""The page's module computes the same checksum as the package that it replaces."""

import importlib.util
import random
from pathlib import Path
from types import ModuleType

import google_crc32c

ROOT = Path(__file__).resolve().parents[3]


def of_page() -> ModuleType:
    """Load the page's module under another name, because it has the same name as the package."""
    spec = importlib.util.spec_from_file_location(
        "google_crc32c_of_page", ROOT / "page" / "instead" / "google_crc32c.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


OURS = of_page()


def test_the_check_value_of_the_polynomial() -> None:
    assert OURS.value(b"123456789") == 0xE306_9283  # RFC 3720, appendix B.4 has others like it
    assert OURS.value(bytes(32)) == 0x8A91_36AA  # RFC 3720
    assert OURS.value(b"") == 0


def test_it_is_that_of_the_package_also_in_two_parts() -> None:
    rng = random.Random(34)
    for size in range(200):
        first, second = rng.randbytes(size), rng.randbytes(rng.randrange(300))
        assert OURS.value(first) == google_crc32c.value(first)
        assert OURS.extend(OURS.value(first), second) == google_crc32c.value(first + second)
