# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""A small writer of SVG line charts, both axes logarithmic, panels side by side."""

import math
from xml.sax.saxutils import escape

# Readable to the colour-blind (Okabe and Ito); the first is the one that the eye should find.
COLOURS = ["#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
PANEL_WIDTH, PANEL_HEIGHT = 430, 330
LEFT, RIGHT, TOP, BOTTOM, GAP = 78, 18, 84, 52, 72
INK, FAINT, GRID = "#222222", "#666666", "#e4e4e4"


def bytes_text(value):
    for unit, size in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def time_text(us):
    if us >= 1e6:
        return f"{us / 1e6:g} s"
    return f"{us / 1e3:g} ms" if us >= 1e3 else f"{us:g} us"


class Axis:
    """Maps a logarithmic range to pixels."""

    def __init__(self, low, high, begin, end):
        self.low, self.high = math.log2(low), math.log2(high)
        if self.high <= self.low:
            self.low, self.high = self.low - 1, self.high + 1
        self.begin, self.end = begin, end

    def __call__(self, value):
        share = (math.log2(value) - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)


def size_ticks(low, high):
    """Powers of two, every third, so that they read 8, 64, 512, 4K, ..."""
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    step = 3 if last - first > 8 else 1
    return [1 << e for e in range(first, last + 1) if (e - first) % step == 0]


def decades(low, high):
    return [10.0 ** e for e in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


class Chart:
    def __init__(self, title, subtitle):
        self.title, self.subtitle = title, subtitle
        self.panels = []  # (title, {series name: [(bytes, us)]})

    def add_panel(self, title, series):
        self.panels.append((title, {name: sorted(points) for name, points in series.items() if points}))

    def names(self):
        return list(dict.fromkeys(name for _, series in self.panels for name in series))

    def svg(self):
        width = LEFT + RIGHT + len(self.panels) * PANEL_WIDTH + (len(self.panels) - 1) * GAP
        height = TOP + PANEL_HEIGHT + BOTTOM
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, sans-serif" font-size="12" fill="{INK}">',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            f'<text x="{LEFT}" y="24" font-size="16" font-weight="bold">{escape(self.title)}</text>',
            f'<text x="{LEFT}" y="42" fill="{FAINT}" font-size="11">{escape(self.subtitle)}</text>',
        ]
        points = [p for _, series in self.panels for line in series.values() for p in line]
        if points:
            y_ticks = decades(min(us for _, us in points), max(us for _, us in points))
            for index, panel in enumerate(self.panels):
                parts += self.panel_svg(LEFT + index * (PANEL_WIDTH + GAP), panel, y_ticks)
            parts += self.legend_svg(width)
        return "\n".join(parts + ["</svg>", ""])

    def colour(self, name):
        return COLOURS[self.names().index(name) % len(COLOURS)]

    def legend_svg(self, width):
        parts = []
        x = width - RIGHT - sum(34 + 7 * len(name) for name in self.names())
        for name in self.names():
            parts.append(f'<line x1="{x}" y1="20" x2="{x + 18}" y2="20" stroke="{self.colour(name)}" '
                         f'stroke-width="2.5"/><circle cx="{x + 9}" cy="20" r="3" fill="{self.colour(name)}"/>')
            parts.append(f'<text x="{x + 23}" y="24">{escape(name)}</text>')
            x += 34 + 7 * len(name)
        return parts

    def panel_svg(self, left, panel, y_ticks):
        title, series = panel
        right, top, bottom = left + PANEL_WIDTH, TOP, TOP + PANEL_HEIGHT
        sizes = [size for line in series.values() for size, _ in line] or [8, 64]
        x = Axis(min(sizes), max(sizes), left + 8, right - 8)
        y = Axis(y_ticks[0], y_ticks[-1], bottom, top)
        middle = (left + right) / 2
        parts = [f'<text x="{middle}" y="{top - 10}" text-anchor="middle" font-weight="bold">{escape(title)}</text>']
        for tick in y_ticks:
            parts.append(f'<line x1="{left}" y1="{y(tick):.1f}" x2="{right}" y2="{y(tick):.1f}" stroke="{GRID}"/>')
            parts.append(f'<text x="{left - 7}" y="{y(tick) + 4:.1f}" text-anchor="end">{time_text(tick)}</text>')
        for tick in size_ticks(min(sizes), max(sizes)):
            parts.append(f'<line x1="{x(tick):.1f}" y1="{top}" x2="{x(tick):.1f}" y2="{bottom}" stroke="{GRID}"/>')
            parts.append(f'<text x="{x(tick):.1f}" y="{bottom + 17}" text-anchor="middle">{bytes_text(tick)}</text>')
        parts.append(f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="{FAINT}"/>')
        parts.append(f'<text x="{middle}" y="{bottom + 38}" text-anchor="middle" fill="{FAINT}">bytes</text>')
        if left == LEFT:
            parts.append(f'<text transform="translate(14 {(top + bottom) / 2}) rotate(-90)" text-anchor="middle" '
                         f'fill="{FAINT}">time per operation</text>')
        # The first series is drawn last, on top.
        for name in reversed([n for n in self.names() if n in series]):
            line = [(x(size), y(us)) for size, us in series[name]]
            path = "M" + "L".join(f"{px:.1f} {py:.1f}" for px, py in line)
            parts.append(f'<path d="{path}" fill="none" stroke="{self.colour(name)}" stroke-width="2" '
                         f'stroke-linejoin="round"/>')
            parts += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.6" fill="{self.colour(name)}"/>' for px, py in line]
        return parts
