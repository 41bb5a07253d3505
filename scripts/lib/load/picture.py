"""Draws what `scripts/load --find-limit` found, from its load.json: p99 over requests a second, as SVG.

Usage: picture.py LOAD.JSON PICTURE.SVG
"""
import json
import math
import sys
from html import escape

WIDTH, HEIGHT = 720, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 40, 48
STYLE = """
text { font: 13px sans-serif; fill: #24292f } .title { font-size: 15px; font-weight: 600 } .end { text-anchor: end }
.middle { text-anchor: middle } .grid { stroke: #d8dee4 } .line { fill: none; stroke: #0a58ca; stroke-width: 2 }
.kept { fill: #0a58ca } .broken { fill: #fff; stroke: #b42318; stroke-width: 2 }
.bound { stroke: #b42318; stroke-dasharray: 6 4 } .limit { stroke: #24292f; stroke-dasharray: 2 3 }
"""


def trials(report):
    """Rate, p99 in milliseconds and whether the targets were met, of each trial, by rate."""
    found = [
        (phase["fromRate"], phase["figures"]["p99Milliseconds"], not phase["problems"])
        for phase in report["phases"] if phase["isMeasured"] and phase["name"].startswith("trial ")]
    return sorted(found, key=lambda trial: trial[:2])


def decades(least, most):
    """The powers of ten from the one at or below `least` to the one at or above `most`."""
    first = math.floor(math.log10(least))
    return [10.0 ** power for power in range(first, max(math.ceil(math.log10(most)), first + 1) + 1)]


def step(most):
    """A distance of four to ten ticks from 0: 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(most / 4))
    return max(factor * power for factor in (1, 2, 5) if factor * power <= most / 4)


def number(value):
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def picture(report):
    """The SVG. A rate that missed the targets is tried again: its line goes through the better of its trials."""
    found = trials(report)
    if not found:
        raise ValueError("the report has no trial: was it made with --find-limit?")
    bound, limit = report["promise"]["p99Milliseconds"], report.get("limit")
    heights = [max(p99, 0.1) for _, p99, _ in found] + [bound]
    rows, most = decades(min(heights), max(heights)), max(rate for rate, _, _ in found) * 1.05

    def x(rate):
        return LEFT + rate / most * (WIDTH - LEFT - RIGHT)

    def y(p99):
        part = math.log(max(p99, rows[0]) / rows[0]) / math.log(rows[-1] / rows[0])
        return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)

    def line(kind, x1, y1, x2, y2):
        return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'

    def text(kind, left, base, words):
        return f'<text class="{kind}" x="{left:.1f}" y="{base:.1f}">{escape(words)}</text>'

    title = f"Limit: {number(limit)} requests/s" if limit else "No rate met the targets"
    parts = [text("title", LEFT, 24, f"{title} (p99 ≤ {number(bound)} ms, {report['products']:,} products)")]
    for row in rows:
        parts += [line("grid", LEFT, y(row), WIDTH - RIGHT, y(row)), text("end", LEFT - 8, y(row) + 4, number(row))]
    for tick in range(int(most / step(most)) + 1):
        rate = tick * step(most)
        parts.append(text("middle", x(rate), HEIGHT - BOTTOM + 18, number(rate) if rate else "0"))
    parts.append(text("middle", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "p99 in ms over requests/s; rings missed the targets"))
    parts.append(line("bound", LEFT, y(bound), WIDTH - RIGHT, y(bound)))
    if limit:
        parts.append(line("limit", x(limit), TOP, x(limit), HEIGHT - BOTTOM))
    best = {rate: p99 for rate, p99, _ in reversed(found)}
    points = " ".join(f"{x(rate):.1f},{y(best[rate]):.1f}" for rate in sorted(best))
    parts.append(f'<polyline class="line" points="{points}"/>')
    parts += [
        f'<circle class="{"kept" if kept else "broken"}" cx="{x(rate):.1f}" cy="{y(p99):.1f}" r="4"/>'
        for rate, p99, kept in found]
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">\n<title>{escape(title)}</title>'
        f'\n<style>{STYLE}</style>\n<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>\n{body}\n</svg>\n')


def main():
    source, target = sys.argv[1:]
    with open(source, encoding="utf-8") as file:
        drawn = picture(json.load(file))
    with open(target, "w", encoding="utf-8") as file:
        file.write(drawn)


if __name__ == "__main__":
    main()
