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


# Gloo's time over Tutti's that is wanted, of tensors up to 64 KiB and of larger ones.
TORCH_GOALS = {"all_reduce": (5, 3), "reduce_scatter_single": (5, 5), "all_gather_object": (2, 2)}


def torch(measured):
    """For each machine times and ratios of calls and of training steps, by operation and bytes of a rank's tensor."""
    return "\n".join(torch_of_machine(run) for run in newest(measured, "torch"))


def torch_of_machine(run):
    """One table; a rank count is a column."""
    by_call = {}
    for row in run.rows:
        # A rank's tensor has a part for each peer in an all_to_all; there the part is what the others' tensors are.
        size = row["bytes"] // row["ranks"] if row["operation"] == "all_to_all_single" else row["bytes"]
        by_call.setdefault((row["operation"], size), {})[row["ranks"]] = row
    counts = sorted({row["ranks"] for row in run.rows})
    lines = []
    for (operation, size), rows in by_call.items():
        cells = [f"{us_text(r['gloo'])}, {us_text(r['tutti'])} ({number(r['gloo'] / r['tutti'])})" for r in map(rows.get, counts)]
        goal = "–"
        if operation in TORCH_GOALS:
            least = TORCH_GOALS[operation][0 if size <= 64 * KIB else 1]
            goal = f"{least}: {'met' if all(r['gloo'] / r['tutti'] >= least for r in rows.values()) else 'missed'}"
        lines.append([TORCH[operation], size_text(size) if size else "–", *cells, goal])
    heads = [f"{n} ranks: Gloo, Tutti, us (ratio)" for n in counts]
    return table(["operation", "bytes", *heads, "goal"], lines) + "\n" + caption([run])
