# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""What Tutti has to reach against its peers, and what says whether it does.

Ratios are {(ranks, op, bytes): {peer: the peer's time / Tutti's}}: above 1 Tutti is faster. `hosts` is over how many hosts
the ranks are spread; several hosts have goals of their own.
"""

import math

LARGE_BYTES = 8192  # "large" in the geometric means: from here on
FLOOR = "raw"  # TCP alone: no peer, but what no library over TCP can pass
PLAIN = "plain"  # plain copies and folds: no peer, but what the machine's cores and memory can do
FLOORS = (FLOOR, PLAIN)
PLAIN_BYTES = 1 << 20  # from here on `plain` is measured
SPLIT_BYTES = 64 << 10  # on several hosts there is a mean up to here, and one from here on


def geomean(values):
    values = list(values)
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else None


def geomean_ratio(ratios, ranks, op, peer, least_bytes=0, most_bytes=math.inf):
    return geomean(row[peer] for key, row in ratios.items()
                   if key[:2] == (ranks, op) and least_bytes <= key[2] <= most_bytes and peer in row)


def size_ranges(hosts=1):
    """Of the means that are printed: (title, least bytes, most bytes)."""
    if hosts == 1:
        return [("all sizes", 0, math.inf), (f">= {LARGE_BYTES >> 10} KiB", LARGE_BYTES, math.inf)]
    return [(f"up to {SPLIT_BYTES >> 10} KiB", 0, SPLIT_BYTES), (f"from {SPLIT_BYTES >> 10} KiB on", SPLIT_BYTES, math.inf)]


def best_peer(row):
    """The fastest of the peers, or None."""
    return min((peer for peer in row if peer not in FLOORS), key=row.get, default=None)


def pairs(ratios):
    """(ranks, op), ranks ascending, operations in the order in which they came."""
    return sorted(dict.fromkeys(key[:2] for key in ratios), key=lambda pair: pair[0])


def behind_best(row, most=1.10):
    """The goal to be at most 10 % slower than the fastest of the peers."""
    return behind(row, best_peer(row), most)


def behind(row, peer, most):
    """The goal to take at most so many times a peer's time."""
    return [] if peer not in row or 1 / row[peer] <= most else [f"{1 / row[peer]:.2f} x the time of {peer}, goal {most:.2f}"]


def row_violations(ratios, key, hosts=1, neighbour=False):
    """Goals that one size misses, as short texts. `neighbour`: another program had half of a core."""
    if hosts > 1:
        return row_violations_across(hosts, ratios[key], key)
    ranks, op, _ = key
    row = ratios[key]
    missed = []
    if ranks == 2:
        missed += behind_best(row, 1.15) if neighbour else behind_best(row) + behind(row, PLAIN, 1.25)
    if ranks == 4 and op == "all_reduce":
        for peer, goal in (("openmpi", 2.0), ("gloo", 5.0)):
            if peer in row and row[peer] < goal:
                missed.append(f"{row[peer]:.2f} x as fast as {peer}, goal {goal:g}")
    return missed


def row_violations_across(hosts, row, key):
    """The same where the ranks are on several hosts."""
    ranks, op, size = key
    missed = []
    if op != "all_reduce":
        return missed
    if (hosts, ranks) == (2, 2):
        missed += behind_best(row)
        if FLOOR in row and size == 8 and 1 / row[FLOOR] > 1.3:
            missed.append(f"{1 / row[FLOOR]:.2f} x the time of {FLOOR}, goal 1.3")
        if FLOOR in row and size == 16 << 20 and row[FLOOR] < 0.9:
            missed.append(f"{row[FLOOR]:.2f} of the rate of {FLOOR}, goal 0.9")
    if hosts in (2, 3) and ranks == 2 * hosts:
        for peer, up_to_1_mib, above in (("openmpi", 5.0, 2.0), ("gloo", 3.0, 2.0)):
            goal = up_to_1_mib if size <= 1 << 20 else above
            if peer in row and row[peer] < goal:
                missed.append(f"{row[peer]:.2f} x as fast as {peer}, goal {goal:g}")
    return missed


def mean_violations_across(hosts, ratios):
    missed = []
    if hosts != 2:
        return missed
    best = {key: {"best": row[best_peer(row)]} for key, row in ratios.items() if best_peer(row)}
    for title, least, most in size_ranges(hosts):
        reached = geomean_ratio(best, 2, "all_reduce", "best", least, most)
        if reached is not None and reached < 1.3:
            missed.append((2, "all_reduce", f"{title} {reached:.2f} x as fast as the best peer of each size, goal 1.3 "
                                            "(geometric mean)"))
    return missed


def mean_goal(op):
    """How many times as fast as Open MPI an operation of 2 ranks of one host is to be, from LARGE_BYTES on."""
    return 2.0 if op in ("all_reduce", "reduce_scatter") else 1.3


def mean_violations(ratios, hosts=1):
    """Goals over many sizes that are missed: (ranks, op, text)."""
    if hosts > 1:
        return mean_violations_across(hosts, ratios)
    missed = []
    for ranks, op in pairs(ratios):
        if ranks != 2:
            continue
        goal = mean_goal(op)
        reached = geomean_ratio(ratios, ranks, op, "openmpi", LARGE_BYTES)
        if reached is not None and reached < goal:
            missed.append((ranks, op, f"from {LARGE_BYTES >> 10} KiB on {reached:.2f} x as fast as openmpi, "
                                      f"goal {goal:g} (geometric mean)"))
    return missed
