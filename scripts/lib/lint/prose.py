"""Counts phrases that make a reader stop, per 1,000 words of comments and documents. Fails above LIMIT in any group.

A low count proves nothing: a reader decides. Write subject, verb, object, and name the component that acts.

Usage: prose.py [--list] [PATH ...]     --list prints each line that a pattern finds; PATH limits the search. Run it in
the checkout.
"""
import argparse
import collections
import os
import re
import sys

LIMIT = 1.0
PATTERNS = [re.compile(pattern) for pattern in (
    # No actor: name the component.
    r"\b(whoever|whom|nobody|somebody|anybody|everybody)\b",
    r"\bwho (is|has|was|asks|waits|comes|uses|knows|writes|reads|wants|gets|may)\b",
    # No noun: name the thing.
    r"\b[Ww]hat (is|was|were|has|had|it|they|comes|came|goes|becomes|waits|stands|follows|belongs|remains)\b",
    r"\b(those that|those of|that of|one that|of its own|of his own|of ours|of theirs|all that)\b",
    # A process notifies, reports or documents.
    r"\b(is|are|was|were) (told|said)\b|\b(tells|told)\b",
    r"\b(the|a|its|this|that|long|short|same|other|their|whose) ways?\b",
    # Subject first.
    r"(?:^|[.;:] )Of (?!course)[a-z]+ ",
    r"\b(makes? anew|made anew|begun anew|once more|side by side with|beside (it|them|that))\b",
)]
SOURCES = ["Services", "Shared", "scripts", "compose", ".ci", "Package.swift"]
GROUPS = {
    "Swift": (SOURCES, (".swift",)),
    "Swift tests": (["Tests"], (".swift",)),
    "JavaScript": ([*SOURCES, "Tests"], (".js", ".mjs")),
    "Python and shell": ([*SOURCES, "Tests"], (".py", ".sh", "")),
    "documents": (["README.md", "CONTRIBUTING.md", "docs", "Services", "Shared"], (".md",)),
}


def files(paths, endings):
    """The files under the paths with one of the endings, without generated ones."""
    for path in paths:
        if os.path.isfile(path):
            names = [path]
        else:
            names = [os.path.join(folder, name) for folder, _, inside in os.walk(path) for name in inside]
        for name in sorted(names):
            if "/Generated/" not in name and os.path.splitext(name)[1] in endings:
                yield name


def slashes(text):
    """The whole-line comments of Swift and JavaScript."""
    for number, line in enumerate(text.split("\n"), 1):
        if found := re.match(r"\s*(?://+|/\*\*?|\*(?!/))\s?(.*)", line):
            if "MARK:" not in line:
                yield number, found[1]


def hashes(text):
    """The comments of Python and shell, and Python's docstrings."""
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        marks = line.count('"""')
        if inside or line.lstrip().startswith(('"""', "#")):
            yield number, line.strip().strip('#" ')
        if marks == 1:
            inside = not inside


def markdown(text):
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, re.sub(r"`[^`]*`|\[([^\]]*)\]\([^)]*\)", r"\1", line)


def comments(file):
    ending = os.path.splitext(file)[1]
    with open(file, encoding="utf-8", errors="replace") as opened:
        text = opened.read()
    if ending == "" and not text.startswith("#!"):
        return []
    return {".md": markdown, ".swift": slashes, ".js": slashes, ".mjs": slashes}.get(ending, hashes)(text)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args()
    words, hits, failed = collections.Counter(), collections.Counter(), False
    for group, (paths, endings) in GROUPS.items():
        for file in files(paths, endings):
            if options.paths and not file.startswith(tuple(options.paths)):
                continue
            for number, comment in comments(file):
                found = sum(len(pattern.findall(comment)) for pattern in PATTERNS)
                words[group] += len(comment.split())
                hits[group] += found
                if found and options.list:
                    print(f"{file}:{number}: {comment.strip()}")
        rate = hits[group] * 1000 / max(words[group], 1)
        failed = failed or rate > LIMIT
        print(f"prose: {group}: {rate:.1f} per 1,000 of {words[group]} words", file=sys.stderr)
    if failed:
        print(f"prose: above {LIMIT} per 1,000; scripts/lib/lint/prose.py --list prints the lines", file=sys.stderr)
    sys.exit(failed)


main()
