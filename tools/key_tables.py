"""Writes the tables of keys in docs/watch.md and docs/watch.zh.md from the key table of the app."""

from pathlib import Path

from sgdoctor.tui.keys import KEYS, as_markdown
from sgdoctor.tui.log_keys import LOG_KEYS

REPO = Path(__file__).resolve().parent.parent
PAGES = {"docs/watch.md": "en", "docs/watch.zh.md": "zh"}
BEGIN, END = "<!-- keys -->\n", "<!-- end of keys -->\n"


def updated(page: str) -> str:
    """The text of a page with the keys of today."""
    before, _, rest = (REPO / page).read_text(encoding="utf-8").partition(BEGIN)
    return before + BEGIN + as_markdown(PAGES[page], (*KEYS, *LOG_KEYS)).strip() + "\n" + END + rest.partition(END)[2]


if __name__ == "__main__":
    for name in PAGES:
        (REPO / name).write_text(updated(name), encoding="utf-8")
