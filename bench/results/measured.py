# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""What tables.py and its tables share: how figures are written, and all that was measured with what it comes to."""

import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "peers")]
import goals  # noqa: E402
from goals import geomean  # noqa: E402
from results import OPS, TITLES, ResultsError  # noqa: E402

KIB, MIB = 1 << 10, 1 << 20


def size_text(size):
    for unit, one in (("GiB", 1 << 30), ("MiB", MIB), ("KiB", KIB)):
        if size >= one:
            return f"{size / one:g} {unit}"
    return f"{size} B"


def number(value):
    """Two decimals of small numbers, three digits of large ones."""
    if value is None:
        return "–"
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def us_text(us):
    return "–" if us is None else f"{us:.1f}" if us < 99.95 else f"{us:.0f}"


def mean_and_worst(values):
    values = list(values)
    return f"{number(geomean(values))} ({number(min(values))})" if values else "–"


def from_to(values, text=number):
    """'2.20 to 3.07', or one number where all are the same."""
    texts = list(dict.fromkeys(text(value) for value in sorted(values)))
    return "–" if not texts else texts[0] if len(texts) == 1 else f"{texts[0]} to {texts[-1]}"


def listed(texts):
    texts = [str(text) for text in texts]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head),
                      *("| " + " | ".join(str(cell) for cell in row) + " |" for row in rows)]) + "\n"


def links(runs):
    """To the files, `{results}` being the way from the page to this folder; or of many the names of their folders."""
    if len(runs) <= 4:
        return ", ".join(f"[{os.path.basename(run.path)}]({{results}}/{run.path})" for run in runs)
    return ", ".join(f"`bench/results/{folder}`" for folder in dict.fromkeys(run.folder for run in runs))


def when(run):
    return f"{run.day}, {run.minute}" if run.minute else run.day


def libraries(runs):
    """'Tutti `abc1234`'. A library before a commit is one whose revision was not noted: the commit put its figures on record."""
    revisions = [f"`{run.data['revision']}`" for run in runs if run.data.get("revision")]
    before = [f"`{commit}`" for run in runs if not run.data.get("revision") for commit in run.data["recorded_in"].split(" and ")]
    texts = [listed(dict.fromkeys(revisions))] if revisions else []
    if before:
        texts.append("before " + listed(dict.fromkeys(before)))
    return "Tutti " + ", and ".join(texts)


def caption(runs, command=None):
    """What was measured where, when, with which libraries, by what: the line below a table. All runs are of one machine and
    the same peers."""
    first = runs[0]
    peers = {name: first.version(name) for name in first.data.get("versions", {}) if name != "tutti" and first.version(name)}
    words = [first.machine_text, ", ".join(dict.fromkeys(run.day for run in runs)), libraries(runs),
             *(f"{TITLES.get(name, name)} {version}" for name, version in peers.items())]
    return f"{'; '.join(words)}; `{command or first.data['command']}`; {links(runs)}.\n"


class Measured:
    """All runs, and which of them a table is about."""

    def __init__(self, runs):
        self.runs = runs

    def file(self, path):
        found = [run for run in self.runs if run.path == path]
        if not found:
            raise ResultsError(f"bench/results/{path} is missing")
        return found[0]

    def of(self, machine, kind=None, neighbour=False, hosts=1, library_buffers=False):
        return [run for run in self.runs if run.machine == machine and (kind is None or run.kind == kind)
                and run.neighbour == neighbour and run.hosts == hosts and run.library_buffers == library_buffers]

    def comparisons(self, machine, neighbour=False):
        """Of ranks on one host with other libraries, whole or only their means."""
        runs = self.of(machine, "peers", neighbour) + self.of(machine, "means", neighbour)
        return sorted(runs, key=lambda run: run.data["date"])

    def with_library_buffers(self, machine, from_bytes=goals.LARGE_BYTES):
        """Comparisons on one host whose buffers were what each library has for messages, which begin at such a size or a smaller one."""
        runs = self.of(machine, "peers", library_buffers=True)
        return sorted((run for run in runs if min(size for _, _, size in run.ratios) <= from_bytes), key=lambda run: run.data["date"])

    def settled(self, machine, neighbour=False):
        """Those of them in which every library settled before its times counted (--settle-ms), of these the ones that know of huge pages,
        which the library has used since then, and of these the ones in which it settled for as many operations as it has had on trial since
        its ranks write to each other's outputs. Where no such run has all operations, as many of these as some run with all fulfils."""
        runs = self.comparisons(machine, neighbour)
        for later in (lambda run: run.data.get("settle_ms"), lambda run: "huge_pages" in run.data["machine"],
                      lambda run: run.data.get("settle_operations", 0) >= 640):
            found = [run for run in runs if later(run)]
            if any(all(mean(run, 2, op, "openmpi") for op in OPS) for run in found):
                runs = found
        return runs


def mean(run, ranks, op, peer, key="from_8_kib"):
    """The geometric mean from 8 KiB on: as the comparison printed it where the file has that, else by its ratios."""
    stored = run.rows if run.kind == "means" else run.data.get("means", [])
    for row in stored:
        if (row["ranks"], row["op"], row["library"]) == (ranks, op, peer) and key in row:
            return row[key]
    if run.kind != "peers" or key != "from_8_kib":
        return None
    return goals.geomean_ratio(run.ratios, ranks, op, peer, goals.LARGE_BYTES)


def behind(run, most):
    """At how many sizes of 2 ranks Tutti takes more than `most` times the time of the best peer; and of how many."""
    if run.kind == "means":
        count = run.data.get("sizes_behind_15_percent" if run.neighbour else "sizes_behind_10_percent")
        return count, run.data.get("sizes_of_2_ranks")
    rows = [row for key, row in run.ratios.items() if key[0] == 2]
    return sum(1 for row in rows if goals.behind_best(row, most)), len(rows)


def gpu_ratios(run, ranks, op, mode, least=0, most=math.inf):
    return [point.ratio for point in run.points if point.library == "nccl" and
            (point.ranks, point.op, point.mode) == (ranks, op, mode) and least < point.bytes <= most]
