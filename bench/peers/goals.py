# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""What Tutti has to reach against its peers, and what says whether it does.

Ratios are {(ranks, op, bytes): {peer: the peer's time / Tutti's}}: above 1 Tutti is faster.
"""

import math

LARGE_BYTES = 8192  # "large" in the geometric means: from here on


def geomean(values):
    values = list(values)
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else None


def geomean_ratio(ratios, ranks, op, peer, least_bytes=0):
    return geomean(row[peer] for key, row in ratios.items()
                   if key[:2] == (ranks, op) and key[2] >= least_bytes and peer in row)


def pairs(ratios):
    """(ranks, op), ranks ascending, operations in the order in which they came."""
    return sorted(dict.fromkeys(key[:2] for key in ratios), key=lambda pair: pair[0])


def row_violations(ratios, key):
    """Goals that one size misses, as short texts."""
    ranks, op, _ = key
    row = ratios[key]
    missed = []
    if ranks == 2 and row:
        best = min(row, key=row.get)
        if 1 / row[best] > 1.10:
            missed.append(f"{1 / row[best]:.2f} x the time of {best}, goal 1.10")
    if ranks == 4 and op == "all_reduce":
        for peer, goal in (("openmpi", 2.0), ("gloo", 5.0)):
            if peer in row and row[peer] < goal:
                missed.append(f"{row[peer]:.2f} x as fast as {peer}, goal {goal:g}")
    return missed


def mean_violations(ratios):
    """Goals over many sizes that are missed: (ranks, op, text)."""
    missed = []
    for ranks, op in pairs(ratios):
        if ranks != 2:
            continue
        goal = 2.0 if op == "all_reduce" else 1.5
        reached = geomean_ratio(ratios, ranks, op, "openmpi", LARGE_BYTES)
        if reached is not None and reached < goal:
            missed.append((ranks, op, f"from {LARGE_BYTES >> 10} KiB on {reached:.2f} x as fast as openmpi, "
                                      f"goal {goal:g} (geometric mean)"))
    return missed
