# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Reads what was measured: the files bench/results/DATE-MACHINE/*.json, which README.md beside this file describes.

A `Run` is one file. Its `points` are times in one shape, whatever program wrote the file, for whoever draws or compares them.
"""

import dataclasses
import functools
import glob
import json
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", ".."))

OPS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "gather", "scatter", "all_to_all", "send_recv")
TITLES = {"tutti": "Tutti", "openmpi": "Open MPI", "mpich": "MPICH", "gloo": "Gloo", "nccl": "NCCL", "plain": "plain copy",
          "raw": "raw TCP", "best_way": "Tutti's best way"}
MACHINES = {  # of folders -> what a reader calls it; others are called by what their files say
    "epyc-2-cores": "AMD EPYC, 2 cores", "epyc-zen3-2-cores": "AMD EPYC of Zen 3, 2 cores",
    "epyc-zen5-2-cores": "AMD EPYC of Zen 5, 2 cores", "xeon-2-cores": "Intel Xeon, 2 cores",
    "xeon-16-cores": "Intel Xeon, 16 cores", "xeon-32-cores": "Intel Xeon, 32 cores", "h100": "1 NVIDIA H100, 16 cores",
    "xeon-amx-2-cores": "Intel Xeon with AMX, 2 cores", "diagnosis": "planted faults", "xeon-64-cores": "Intel Xeon, 64 cores",
    "h200-2-gpus": "2 NVIDIA H200, NVLink", "h200-4-gpus": "4 NVIDIA H200, NVLink",
}
KINDS = {  # what a file holds -> what each of its rows must have
    "peers": ("ranks", "op", "bytes", "library", "us", "ratio"),
    "gpu": ("ranks", "op", "bytes", "mode", "tutti_us"),
    "regret": ("ranks", "op", "bytes", "chosen", "chosen_us"),
    "regret_totals": ("ranks", "sizes", "choice", "mean_percent", "worst_percent", "beyond_10_percent"),
    "means": ("ranks", "op", "library", "from_8_kib"),
    "windows": ("ranks", "op", "bytes", "copy_engines_us", "kernels_us"),
    "nccl_tests": ("ranks", "op", "bytes", "windows", "out_of_place_us", "in_place_us"),
    "blocks": ("ranks", "op", "bytes", "blocks", "us"),
    "overlap": ("scheme", "mib", "products", "both_tutti_us", "both_nccl_us"),
    "calls": ("ranks", "op", "bytes", "cpp_ns", "more_ns", "low_ns", "high_ns"),
    "cards": ("ranks", "op", "bytes", "cards", "us"),
    "walks": ("walk", "seconds", "limit_s", "steps"),
    "jax": ("op", "bytes", "call_us", "loop_us"),
    "torch": ("ranks", "operation", "bytes", "gloo", "tutti"),
    "campaign": ("where", "seed", "kind", "name", "right"),
    "flights": ("seed", "named"),
    "verdicts": ("case", "seed", "ranks", "gpus", "hosts", "right", "told_s", "sentence"),
    "soak_totals": ("seconds", "jobs", "job_hours", "rank_hours", "cores", "pauses", "told", "warnings", "failed"),
    "hours": ("ranks", "jobs", "hours", "worked_out_hours", "events", "looks", "judge_ms", "longest_judge_ms", "told", "warnings"),
    "init": ("ranks", "processes", "hosts", "median_s", "worst_s", "mb_per_rank"),
}


class ResultsError(Exception):
    """A file is not as it should be. The text is a sentence with the file's name."""


@dataclasses.dataclass(frozen=True)
class Point:
    """One time. `us` is None where only the ratio is known, `ratio` (this library's time / Tutti's) where nothing else was
    measured beside it. `mode` is what else tells points apart: graph or stream, how many operations make a group, a repeated
    run. The time is that of `group` operations."""
    op: str
    ranks: int
    mode: str
    bytes: int
    library: str
    us: float
    ratio: float
    group: int = 1


@dataclasses.dataclass(frozen=True)
class Run:
    path: str  # from bench/results on, with /
    data: dict

    @property
    def kind(self):
        if "kind" in self.data:
            return self.data["kind"]
        return "peers" if "results" in self.data else "gpu"  # as files of older programs are

    @property
    def rows(self):
        return self.data["results" if self.kind == "peers" else "rows"]

    @property
    def folder(self):
        return self.path.split("/")[0]

    @property
    def machine(self):
        """Its key: the folder's name without the date."""
        return self.folder[len("2026-01-01-"):]

    @property
    def day(self):
        return self.data["date"][:10]

    @property
    def minute(self):
        """The time of day, or nothing where it is not known."""
        return self.data["date"][11:16]

    @property
    def machine_text(self):
        """The machine as a reader wants it: without memory, kernel and load."""
        machine = MACHINES.get(self.machine, self.data["machine"])
        if isinstance(machine, str):
            return re.sub(r", (Linux \S+|a virtual machine|virtual.*)$", "", machine)
        cpu = re.sub(r"\(R\)| Processor", "", machine["cpu"])
        return f"{cpu}, {machine['cores']} cores"

    @property
    def library(self):
        """Which Tutti this is: its revision, or where that is not known the commit that put the figures on record."""
        revision = self.data.get("revision")
        return revision if revision else f"on record since {self.data['recorded_in']}"

    @property
    def hosts(self):
        return self.data.get("hosts", {}).get("count", 1)

    @property
    def neighbour(self):
        return self.data.get("neighbour", "--neighbour" in self.data["command"])

    @property
    def library_buffers(self):
        """Whether buffers were what each library has for messages (--library-buffers)."""
        return self.data.get("library_buffers", False)

    def version(self, library):
        """A peer's version without what its packager adds: '4.1.4' for instance."""
        text = self.data.get("versions", {}).get(library, "")
        found = re.search(r"\d+(\.\d+)+", text)
        return found.group(0) if found else ""

    @functools.cached_property
    def points(self):
        """The times in this file, as `Point`s. None for kinds that hold none."""
        reader = {"peers": peer_points, "gpu": gpu_points, "regret": regret_points, "blocks": block_points}.get(self.kind)
        return [point for row in self.rows for point in reader(row)] if reader else []

    @functools.cached_property
    def ratios(self):
        """(ranks, op, bytes) -> peer -> its time / Tutti's, as bench/peers/goals.py wants it."""
        found = {}
        for point in self.points:
            row = found.setdefault((point.ranks, point.op, point.bytes), {})
            if point.library != "tutti" and point.ratio is not None:
                row[point.library] = point.ratio
        return found


def ratio_of(us, tutti_us):
    return us / tutti_us if us and tutti_us else None


def peer_points(row):
    yield Point(row["op"], row["ranks"], "", row["bytes"], row["library"], row["us"], row["ratio"])


def gpu_points(row):
    mode, group = row["mode"], row.get("group", 1)
    if group > 1:
        mode += f", {group} in a group"
    if "run" in row:
        mode += f", run {row['run']}"
    nccl_us = row.get("nccl_us")  # 0: NCCL has no such operation
    yield Point(row["op"], row["ranks"], mode, row["bytes"], "tutti", row["tutti_us"], None, group)
    if nccl_us or row.get("ratio"):
        yield Point(row["op"], row["ranks"], mode, row["bytes"], "nccl", nccl_us or None,
                    row.get("ratio") or ratio_of(nccl_us, row["tutti_us"]), group)


def regret_points(row):
    yield Point(row["op"], row["ranks"], "", row["bytes"], "tutti", row["chosen_us"], None)
    yield Point(row["op"], row["ranks"], "", row["bytes"], "best_way", row.get("best_us", row["chosen_us"]),
                1 / (1 + row.get("longer_percent", 0) / 100))


def block_points(row):
    mode = f"graph, {row['blocks']} blocks" + (", in turns" if row.get("in_turns") else "")
    yield Point(row["op"], row["ranks"], mode, row["bytes"], "tutti", row["us"], None)


def check(run):
    """Raises ResultsError where the file lacks what a reader of its figures needs."""
    def fail(what):
        raise ResultsError(f"bench/results/{run.path}: {what}")

    if not re.fullmatch(r"\d{4}-\d\d-\d\d-[\w-]+/\w+\.json", run.path):
        fail("must lie in a folder DATE-MACHINE, as 2026-01-31-epyc-2-cores")
    for name in ("date", "machine", "command"):
        if not run.data.get(name):
            fail(f"has no '{name}'")
    if not run.data.get("revision") and not run.data.get("recorded_in"):
        fail("says neither by 'revision' which library it measured nor by 'recorded_in' which commit put it on record")
    if run.day != run.folder[:10]:
        fail(f"is of {run.day}, but lies in {run.folder}")
    if run.kind not in KINDS:
        fail(f"has an unknown kind '{run.kind}'; kinds: {' '.join(KINDS)}")
    if not run.rows:
        fail("has no rows")
    for number, row in enumerate(run.rows, 1):
        if missing := [name for name in KINDS[run.kind] if name not in row]:
            fail(f"row {number} lacks {', '.join(missing)}")


def load(path, folder=HERE):
    """One file, by its path from the folder on."""
    try:
        with open(os.path.join(folder, path), encoding="utf-8") as file:
            data = json.load(file)
    except (OSError, ValueError) as error:
        raise ResultsError(f"bench/results/{path} cannot be read: {error}") from error
    if not isinstance(data, dict) or not isinstance(data.get("results", data.get("rows")), list):
        raise ResultsError(f"bench/results/{path}: must be an object with a list 'rows' (or 'results')")
    run = Run(path, data)
    check(run)
    return run


def load_all(folder=HERE):
    """All files, oldest first."""
    paths = sorted(os.path.relpath(path, folder).replace(os.sep, "/") for path in glob.glob(os.path.join(folder, "*", "*.json")))
    return sorted((load(path, folder) for path in paths), key=lambda run: (run.data["date"], run.path))
