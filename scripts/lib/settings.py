"""The settings, as docs/reference/settings.md lists them.

As a program it names each SATCHEL_* variable of the environment that is no setting, and the most similar setting. It exits 1
if there is one.

Usage: settings.py docs/reference/settings.md
"""
import difflib
import os
import pathlib
import re
import sys

# Variables of the scripts and of compose/, and settings of earlier releases, which the services themselves refuse.
OTHERS = re.compile(r"SATCHEL_(BIN|LOAD|ATTACK|SHOP_ONLY|REPLICA|BACKUPS|BUS_PORT|([A-Z]+_)?POSTGRESQL|CLOUD_WRITERS|(TEST|FUZZ)_.*)")


def names(text):
    """The settings that the document names."""
    return set(re.findall(r"SATCHEL_[A-Z_]+", text))


def defaults(text):
    """The default of each setting that has a table row, as the row's second cell states it; `none` counts as empty."""
    found = {}
    for row in re.findall(r"^\| `SATCHEL_.*", text, re.M):
        first, second = (cell.strip() for cell in row.split("|")[1:3])
        listed = re.findall(r"`(SATCHEL_[A-Z_]+)`", first)
        parts = next((parts for parts in (second.split(mark) for mark in ("; ", ", ")) if len(parts) == len(listed)),
                     [second] * len(listed))
        found.update((name, "" if part == "none" else part) for name, part in zip(listed, parts))
    return found


def unknown(text, environment):
    """A sentence about each variable of the environment that is no setting."""
    known = names(text)
    for name in sorted(environment):
        if name.startswith("SATCHEL_") and name not in known and not OTHERS.fullmatch(name):
            similar = difflib.get_close_matches(name, known, 1)
            yield f"{name} is not a setting{f'; did you mean {similar[0]}?' if similar else '.'}"


def main():
    found = list(unknown(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"), os.environ))
    if found:
        print(*found, "docs/reference/settings.md lists all settings.", sep="\n", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
