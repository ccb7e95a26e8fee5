# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""A small writer of SVG line charts, both axes logarithmic, two panels side by side and further ones below."""

import math
from xml.sax.saxutils import escape

# Readable to the colour-blind (Okabe and Ito); the first is the one that the eye should find.
COLOURS = ["#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
MARKERS = ["circle", "square", "triangle", "diamond", "cross", "ring"]  # and to whoever sees no colours
# A page shows a chart about 850 wide: two panels and letters of this height can be read there without zooming.
COLUMNS, FONT = 2, 14
PANEL_WIDTH, PANEL_HEIGHT = 370, 280
LEFT, RIGHT, TOP, BOTTOM, GAP, ROW_GAP = 84, 16, 92, 56, 78, 96
MOST_TICKS = 8  # along a panel's width, so that they do not touch
INK, FAINT, GRID = "#222222", "#595959", "#e4e4e4"


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
    """Powers of two at equal distances, at most MOST_TICKS of them: 8, 64, 512, 4K, ... for instance."""
    first, last = math.ceil(math.log2(low)), math.floor(math.log2(high))
    step = max(1, math.ceil((last - first + 1) / MOST_TICKS))
    return [1 << e for e in range(first, last + 1, step)]


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
        columns = min(COLUMNS, max(len(self.panels), 1))
        rows = math.ceil(len(self.panels) / columns)
        width = LEFT + RIGHT + COLUMNS * PANEL_WIDTH + (COLUMNS - 1) * GAP  # the title and the legend need it
        height = TOP + BOTTOM + rows * PANEL_HEIGHT + (rows - 1) * ROW_GAP
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, sans-serif" font-size="{FONT}" fill="{INK}">',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            f'<text x="{LEFT}" y="26" font-size="{FONT + 4}" font-weight="bold">{escape(self.title)}</text>',
            f'<text x="{LEFT}" y="48" fill="{FAINT}" font-size="{FONT - 1}">{escape(self.subtitle)}</text>',
        ]
        points = [p for _, series in self.panels for line in series.values() for p in line]
        if points:
            y_ticks = decades(min(us for _, us in points), max(us for _, us in points))
            for index, panel in enumerate(self.panels):
                left = LEFT + index % columns * (PANEL_WIDTH + GAP)
                parts += self.panel_svg(left, TOP + index // columns * (PANEL_HEIGHT + ROW_GAP), panel, y_ticks)
            parts += self.legend_svg(width)
        return "\n".join(parts + ["</svg>", ""])

    def colour(self, name):
        return COLOURS[self.names().index(name) % len(COLOURS)]

    def marker_svg(self, name, x, y):
        shape, colour = MARKERS[self.names().index(name) % len(MARKERS)], self.colour(name)
        if shape == "circle":
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{colour}"/>'
        if shape == "ring":
            return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#ffffff" stroke="{colour}" stroke-width="1.6"/>'
        if shape == "cross":
            return f'<path d="M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6" stroke="{colour}" stroke-width="1.8"/>'
        path = {"square": f"M{x - 3:.1f} {y - 3:.1f}h6v6h-6z", "triangle": f"M{x:.1f} {y - 4:.1f}l4 7h-8z",
                "diamond": f"M{x:.1f} {y - 4.2:.1f}l4.2 4.2l-4.2 4.2l-4.2 -4.2z"}[shape]
        return f'<path d="{path}" fill="{colour}"/>'

    def legend_svg(self, width):
        parts = []
        letter = 0.56 * FONT  # about as wide as letters are
        x = width - RIGHT - sum(44 + letter * len(name) for name in self.names())
        for name in self.names():
            parts.append(f'<line x1="{x:.1f}" y1="21" x2="{x + 24:.1f}" y2="21" stroke="{self.colour(name)}" '
                         f'stroke-width="2.5"/>{self.marker_svg(name, x + 12, 21)}')
            parts.append(f'<text x="{x + 29:.1f}" y="26">{escape(name)}</text>')
            x += 44 + letter * len(name)
        return parts

    def panel_svg(self, left, top, panel, y_ticks):
        title, series = panel
        right, bottom = left + PANEL_WIDTH, top + PANEL_HEIGHT
        sizes = [size for line in series.values() for size, _ in line] or [8, 64]
        x = Axis(min(sizes), max(sizes), left + 8, right - 8)
        y = Axis(y_ticks[0], y_ticks[-1], bottom, top)
        middle = (left + right) / 2
        parts = [f'<text x="{middle}" y="{top - 12}" text-anchor="middle" font-weight="bold">{escape(title)}</text>']
        for tick in y_ticks:
            parts.append(f'<line x1="{left}" y1="{y(tick):.1f}" x2="{right}" y2="{y(tick):.1f}" stroke="{GRID}"/>')
            parts.append(f'<text x="{left - 7}" y="{y(tick) + 5:.1f}" text-anchor="end">{time_text(tick)}</text>')
        for tick in size_ticks(min(sizes), max(sizes)):
            parts.append(f'<line x1="{x(tick):.1f}" y1="{top}" x2="{x(tick):.1f}" y2="{bottom}" stroke="{GRID}"/>')
            parts.append(f'<text x="{x(tick):.1f}" y="{bottom + 19}" text-anchor="middle">{bytes_text(tick)}</text>')
        parts.append(f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="{FAINT}"/>')
        parts.append(f'<text x="{middle}" y="{bottom + 42}" text-anchor="middle" fill="{FAINT}">bytes</text>')
        if left == LEFT:
            parts.append(f'<text transform="translate(16 {(top + bottom) / 2}) rotate(-90)" text-anchor="middle" '
                         f'fill="{FAINT}">time per operation</text>')
        # The first series is drawn last, on top.
        for name in reversed([n for n in self.names() if n in series]):
            line = [(x(size), y(us)) for size, us in series[name]]
            path = "M" + "L".join(f"{px:.1f} {py:.1f}" for px, py in line)
            parts.append(f'<path d="{path}" fill="none" stroke="{self.colour(name)}" stroke-width="2" '
                         f'stroke-linejoin="round"/>')
            parts += [self.marker_svg(name, px, py) for px, py in line]
        return parts
