#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Draws what nccl_fit --json wrote: bus bandwidth measured, predicted and by NCCL's formula, a panel for each cluster.

    plot.py PREDICTED.json OUT.svg

Needs matplotlib.
"""

import json
import math
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

# Readable to the colour-blind (Okabe and Ito).
COLOURS = ["#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"]
LEAST_SIZES = 4  # of a cluster, to be drawn
COLUMNS = 3


def bytes_text(value):
    for unit, size in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def by_series(points):
    series = {}
    for point in sorted(points, key=lambda point: point["bytes"]):
        series.setdefault(point["series"], []).append(point)
    return series


def draw(axes, cluster, points):
    axes.set_title(cluster, fontsize=10, loc="left")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    for colour, (name, some) in zip(COLOURS * len(points), by_series(points).items()):
        sizes = [point["bytes"] for point in some]
        axes.plot(sizes, [point["measured_us"] for point in some], "o", color=colour, markersize=3.5, label=name)
        axes.plot(sizes, [point["predicted_us"] for point in some], "-", color=colour, linewidth=1.2)
        axes.plot(sizes, [point["formula_us"] for point in some], ":", color=colour, linewidth=0.9)
        inputs = [point for point in some if point["input"]]
        axes.plot([point["bytes"] for point in inputs], [point["measured_us"] for point in inputs], "s", color=colour,
                  markersize=6, fillstyle="none")
    axes.xaxis.set_major_formatter(lambda value, _: bytes_text(value))
    axes.grid(color="#e4e4e4", linewidth=0.6)
    axes.legend(fontsize=7, frameon=False)


def main(source, target):
    with open(source, encoding="utf-8") as file:
        reach = json.load(file)["reach"]
    clusters = {name: points for name, points in reach.items()
                if len({point["bytes"] for point in points}) >= LEAST_SIZES}
    matplotlib.rcParams.update({"svg.hashsalt": "tutti", "font.size": 8})  # the same file for the same figures
    rows = math.ceil(len(clusters) / COLUMNS)
    figure, grid = plt.subplots(rows, COLUMNS, figsize=(4.2 * COLUMNS, 3.2 * rows), squeeze=False, layout="constrained")
    for axes, (cluster, points) in zip(grid.flat, clusters.items()):
        draw(axes, cluster, points)
    for axes in list(grid.flat)[len(clusters):]:
        axes.axis("off")
    figure.suptitle("all_reduce of NCCL, us by bytes: dots measured, lines predicted without the cluster's other points, "
                    "dotted NCCL's formula; squares are inputs", x=0.01, ha="left", fontsize=9)
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
