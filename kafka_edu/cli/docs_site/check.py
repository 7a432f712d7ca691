"""Follow every link of the finished site: pages, anchors, pictures, scripts, styles."""

import urllib.parse
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

#: Tags and attributes that make the browser fetch a file at once. An address on another host would
#: need a network.
_FETCHED: Final = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src")}
_SCHEMES: Final = ("http", "https", "mailto")
#: The `rel` values of links that the theme adds for browsers. A reader does not see these links.
_NOT_LINKS: Final = ("canonical", "prev", "next", "edit")


class _Links(HTMLParser):
    """The anchors of one HTML page, and its links: (address, whether it is fetched at once)."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors |= {name for name in (values.get("id"), values.get("name")) if name}
        if tag == "link" and values.get("rel") in _NOT_LINKS:
            return
        for attribute in ("href", "src"):
            address = values.get(attribute)
            if address:
                self.links.append((address, (tag, attribute) in _FETCHED))


def broken_links(site: Path) -> list[str]:
    """Return the broken links of a site as sorted lines of text."""
    pages = {path.resolve(): _parse(path) for path in site.rglob("*.html")}
    problems = set()
    for path, page in pages.items():
        name = path.relative_to(site.resolve()).as_posix()
        # Links in this page begin at the root, because it is shown for any missing address.
        if name == "404.html":
            continue
        for address, fetched in page.links:
            reason = _problem(path, address, fetched, pages)
            if reason:
                problems.add(f"{name} links to {address}: {reason}")
    return sorted(problems)


def _parse(path: Path) -> _Links:
    links = _Links()
    links.feed(path.read_text(encoding="utf-8"))
    links.close()
    return links


def _problem(path: Path, address: str, fetched: bool, pages: dict[Path, _Links]) -> str:
    """Return why the link `address` of the page `path` is broken, or "" if it is good."""
    parts = urllib.parse.urlsplit(address)
    if parts.scheme or parts.netloc:
        if parts.scheme == "data" or (parts.scheme in _SCHEMES and not fetched):
            return ""
        return (
            "it is fetched from another host" if fetched else "a kind of address that is not known"
        )
    target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return "there is no such file"
    anchor = urllib.parse.unquote(parts.fragment)
    if anchor and "=" not in anchor and target in pages and anchor not in pages[target].anchors:
        return "the page has no such anchor"
    return ""
