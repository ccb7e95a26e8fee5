# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/pytorch.md and docs/jax.md: collectives of both over Tutti beside Gloo, on CPUs."""

from measured import KIB, caption, number, size_text, table, us_text
from results import ResultsError

# Operations of torch_compare.py, as the page calls them.
TORCH = {"all_reduce": "all_reduce", "broadcast": "broadcast", "all_gather_single": "all_gather", "reduce_scatter_single": "reduce_scatter",
         "all_to_all_single": "all_to_all", "all_gather_object": "all_gather_object", "barrier": "barrier",
         "ddp": "a step of DDP", "fsdp": "a step of FSDP2"}


def newest(measured, kind):
    runs = [run for run in measured.runs if run.kind == kind]
    if not runs:
        raise ResultsError(f"bench/results has no file of kind '{kind}'")
    return [run for run in runs if run.day == runs[-1].day]


def jax(measured):
    """Ratios inside a compiled loop and of single calls."""
    runs = newest(measured, "jax")
    lines = []
    for row in (row for run in runs for row in run.rows):
        goal = 5 if row["bytes"] <= 64 * KIB else 2
        cells = [f"{us_text(row[of]['gloo'])}, {us_text(row[of]['tutti'])} ({number(row[of]['ratio'])})" for of in ("loop_us", "call_us")]
        lines.append([row["op"], size_text(row["bytes"]), *cells, f"{goal}: {'met' if row['loop_us']['ratio'] >= goal else 'missed'}"])
    return table(["operation", "bytes of a process", "in a loop: Gloo, Tutti, us", "one call: Gloo, Tutti, us", "goal of the loop"],
                 lines) + "\n" + "".join(caption([run]) for run in runs)


def torch(measured):
    """Ratios of calls, and times of steps."""
    runs = newest(measured, "torch")
    lines = []
    for row in (row for run in runs for row in run.rows):
        size = size_text(row["bytes"]) if row["bytes"] else "–"
        lines.append([row["ranks"], TORCH[row["operation"]], size, us_text(row["gloo"]), us_text(row["tutti"]),
                      number(row["gloo"] / row["tutti"])])
    return table(["ranks", "operation", "bytes", "Gloo, us", "Tutti, us", "Gloo's time / Tutti's"], lines) + "\n" + \
        "".join(caption([run]) for run in runs)
