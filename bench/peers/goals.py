# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""What Tutti has to reach against its peers, and the figures that say whether it does.

Times are {(ranks, op, bytes): {library: microseconds}}. A ratio is peer's time / Tutti's: above 1 Tutti is faster.
"""

import math

LARGE_BYTES = 8192  # "large" in the geometric means: from here on


def ratio(times, key, peer):
    row = times[key]
    return row[peer] / row["tutti"] if peer in row and "tutti" in row else None


def geomean(values):
    values = list(values)
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else None


def geomean_ratio(times, ranks, op, peer, least_bytes=0):
    found = (ratio(times, key, peer) for key in times if key[:2] == (ranks, op) and key[2] >= least_bytes)
    return geomean(r for r in found if r is not None)


def pairs(times):
    return sorted({key[:2] for key in times}, key=lambda pair: (pair[0], [k[1] for k in times].index(pair[1])))


def row_violations(times, key):
    """Goals that one size misses, as short texts."""
    ranks, op, _ = key
    row = times[key]
    if "tutti" not in row:
        return []
    missed = []
    peers = {library: us for library, us in row.items() if library != "tutti"}
    if ranks == 2 and peers:
        best = min(peers, key=peers.get)
        if row["tutti"] > 1.10 * peers[best]:
            missed.append(f"{row['tutti'] / peers[best]:.2f} x the time of {best}, goal 1.10")
    if ranks == 4 and op == "all_reduce":
        for peer, goal in (("openmpi", 2.0), ("gloo", 5.0)):
            reached = ratio(times, key, peer)
            if reached is not None and reached < goal:
                missed.append(f"{reached:.2f} x as fast as {peer}, goal {goal:g}")
    return missed


def mean_violations(times):
    """Goals over many sizes that are missed: (ranks, op, text)."""
    missed = []
    for ranks, op in pairs(times):
        if ranks != 2:
            continue
        goal = 2.0 if op == "all_reduce" else 1.5
        reached = geomean_ratio(times, ranks, op, "openmpi", LARGE_BYTES)
        if reached is not None and reached < goal:
            missed.append((ranks, op, f"from {LARGE_BYTES >> 10} KiB on {reached:.2f} x as fast as openmpi, "
                                      f"goal {goal:g} (geometric mean)"))
    return missed
