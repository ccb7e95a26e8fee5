# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""The tables of GPUs of one host."""

import functools
import importlib.util
import os

from measured import HERE, KIB, MIB, caption, from_to, geomean, gpu_ratios, mean_and_worst, number, size_text, table, us_text
from results import OPS

GOALS_OF_4_GPUS_US = {KIB: 3.0, 64 * KIB: 4.2, 256 * KIB: 6.0, MIB: 10.5, 4 * MIB: 25, 16 * MIB: 80, 64 * MIB: 290, 1024 * MIB: 4250}


@functools.cache
def gpu_bench():
    """bench/gpu/run.py, which knows the goals of GPUs."""
    spec = importlib.util.spec_from_file_location("gpu_bench", os.path.join(HERE, "..", "gpu", "run.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


COMPARED = "2026-11-27-h200-4-gpus/compare_72d3153.json"


def ranges():
    """(title, more than so many bytes, at most so many) of the means."""
    ranges = gpu_bench().RANGES
    return [(title, below, most) for (title, most, _), below in zip(ranges, (0, *(most for _, most, _ in ranges)))]


def ratios_in_graphs(measured):
    """In graphs."""
    run = measured.file(COMPARED)
    columns = [(ranks, *between) for ranks in (4, 3, 2) for between in ranges()]
    rows = [[op, *(mean_and_worst(gpu_ratios(run, ranks, op, "graph", low, most)) for ranks, _, low, most in columns)] for op in OPS]
    head = ["operation", *(f"{ranks} GPUs, {title}" for ranks, title, *_ in columns)]
    return table(head, rows) + "\n" + caption([run])


def ratios_whole(measured):
    run = measured.file(COMPARED)
    rows = [[str(ranks), op, *(mean_and_worst(gpu_ratios(run, ranks, op, mode, low, most))
                               for mode in ("graph", "stream") for _, low, most in ranges())]
            for ranks in (4, 3, 2) for op in OPS]
    head = ["GPUs", "operation", *(f"{mode}, {title}" for mode in ("graph", "stream") for title, *_ in ranges())]
    return table(head, rows) + "\n" + caption([run])


def below_goal(reached, goal):
    """With as many decimals as it takes to be seen below the goal."""
    return next(text for digits in range(2, 17) if float(text := f"{reached:.{digits}f}") < goal)


def goals_missed(measured):
    """What misses its goal, and the times of all_reduce in graphs beside theirs."""
    run, bench = measured.file(COMPARED), gpu_bench()
    rows = []
    for ranks in (4, 3, 2):
        slower, below = {}, []
        for point in run.points:
            if point.library == "nccl" and point.ranks == ranks and point.ratio < bench.NOISE:
                slower.setdefault(point.op, {}).setdefault(point.bytes, []).append(point.ratio)
        for (title, low, most), (*_, goal) in zip(ranges(), bench.RANGES):
            for op in bench.MEAN_OPS:
                reached = min(geomean(gpu_ratios(run, ranks, op, mode, low, most)) for mode in ("graph", "stream"))
                if reached < goal:
                    below.append(f"{op} {title} {below_goal(reached, goal)}")
        rows.append([str(ranks), "; ".join(
            f"{op} of {size_text(min(sizes))}" + (f" to {size_text(max(sizes))}" if len(sizes) > 1 else "") +
            f" {from_to([value for values in sizes.values() for value in values])}" for op, sizes in slower.items()) or "nowhere",
            "; ".join(below) or "none"])
    text = table(("GPUs", "slower than NCCL by more than 5 %", "geometric mean below its goal"), rows) + "\n"

    def us(ranks, size, name):
        return next(p.us for p in run.points if (p.ranks, p.op, p.mode, p.bytes, p.library) ==
                    (ranks, "all_reduce", "graph", size, name))
    sizes = list(GOALS_OF_4_GPUS_US)
    over = [us(4, size, "tutti") / goal for size, goal in GOALS_OF_4_GPUS_US.items()]
    return text + table(["all_reduce, us", *map(size_text, sizes)], [
        ["4 GPUs: goal", *(f"{goal:g}" for goal in GOALS_OF_4_GPUS_US.values())],
        ["Tutti", *(us_text(us(4, size, "tutti")) + (f", missed by {100 * (part - 1):.0f} %" if part > 1 else ", met")
                    for size, part in zip(sizes, over))],
        ["NCCL", *(us_text(us(4, size, "nccl")) for size in sizes)],
        ["2 GPUs: Tutti, NCCL", *(f"{us_text(us(2, size, 'tutti'))}, {us_text(us(2, size, 'nccl'))}" for size in sizes)]])


def beside_products(measured):
    runs = [measured.file("2026-11-23-h200-2-gpus/torch_overlap.json"), measured.file("2026-11-27-h200-4-gpus/torch_overlap.json")]
    rows = []
    for pair in zip(*(run.rows for run in runs)):
        first = pair[0]
        cells = [f"{first['scheme']}, {first['mib']} MiB, {first['products']} products"]
        for row in pair:
            for what in ("collectives", "both"):
                ours, theirs = row[f"{what}_tutti_us"], row[f"{what}_nccl_us"]
                cells.append(f"{ours}, {theirs} ({number(theirs / ours)})")
        rows.append(cells)
    head = ["step"] + [f"{run.data['ranks']} GPUs, {what}" for run in runs for what in ("collectives", "with products")]
    return table(head, rows) + "\n" + "".join("\n" * bool(index) + caption([run]) for index, run in enumerate(runs))


def groups(measured):
    run = measured.file("2026-11-22-h200-2-gpus/groups.json")
    rows = []
    for op, group, size in dict.fromkeys((row["op"], row["group"], row["bytes"]) for row in run.rows):
        cells = [f"{group} x {op}", size_text(size)]
        for mode in ("graph", "stream"):
            row = next((r for r in run.rows if (r["op"], r["group"], r["bytes"], r["mode"]) == (op, group, size, mode)), None)
            cells += [f"{row['tutti_us']:.2f}, {row['nccl_us']:.2f} ({number(row['nccl_us'] / row['tutti_us'])})"] if row else ["–"]
            if mode == "stream":
                cells.append(f"{row['tutti_call_us']:.2f}, {row['nccl_call_us']:.2f}" if row else "–")
        rows.append(cells)
    return table(("group", "bytes each", "graph: Tutti, NCCL, us", "stream: Tutti, NCCL, us", "CPU time of the calls, us"), rows) + \
        "\n" + caption([run])


def windows(measured):
    run = measured.file("2026-11-22-h200-2-gpus/windows.json")
    tests = measured.file("2026-11-22-h200-2-gpus/nccl_tests_windows.json")
    text = table(("operation", "bytes per rank", "copy engines, us", "kernels, us"),
                 [(row["op"], size_text(row["bytes"]), f"{row['copy_engines_us']:.1f}", f"{row['kernels_us']:.1f}")
                  for row in run.rows]) + "\n" + caption([run]) + "\n"
    def cell(op, windows):
        row = next(r for r in tests.rows if (r["op"], r["windows"]) == (op, windows))
        return f"{row['out_of_place_us']:.0f}, {row['in_place_us']:.0f}"
    ops = dict.fromkeys(row["op"] for row in tests.rows)
    return text + table(("256 MiB, us out of place, in place", "windows", "no windows"),
                        [(op, cell(op, True), cell(op, False)) for op in ops]) + "\n" + caption([tests])


def blocks_of_relays(measured):
    run = measured.file("2026-11-26-h200-4-gpus/relay_blocks.json")
    apart = [row for row in run.rows if not row.get("in_turns")]
    blocks = list(dict.fromkeys(row["blocks"] for row in apart))
    def cells(rows, keys):
        return [f"{next(r['us'] for r in rows if r['blocks'] == count):.0f}" for count in keys]
    pairs = dict.fromkeys((row["op"], row["bytes"]) for row in apart)
    text = table(["operation", "bytes", *(f"{count} blocks, us" for count in blocks)],
                 [[op, size_text(size), *cells([r for r in apart if (r["op"], r["bytes"]) == (op, size)], blocks)] for op, size in pairs])
    turns = [row for row in run.rows if row.get("in_turns")]
    pairs = dict.fromkeys((row["op"], row["bytes"]) for row in turns)
    return text + "\nThese two in turns:\n\n" + table(
        ("operation", "bytes", "24 blocks, us", "32 blocks, us"),
        [[op, size_text(size), *cells([r for r in turns if (r["op"], r["bytes"]) == (op, size)], (24, 32))] for op, size in pairs]) + \
        "\n" + caption([run]) + many_blocks_of_reduce_scatters(measured)


def many_blocks_of_reduce_scatters(measured):
    run = measured.file("2026-11-27-h200-4-gpus/reduce_scatter_blocks.json")
    rows = []
    for size in dict.fromkeys(row["bytes"] for row in run.rows):
        few, many = (next(row for row in run.rows if (row["bytes"], row["blocks"]) == (size, blocks)) for blocks in (24, 64))
        nccl = few["nccl_runs_us"] + many["nccl_runs_us"]
        rows.append([size_text(size), *(f"{us:.0f}" for us in (few["us"], many["us"], sum(nccl) / len(nccl)))])
    return "\nA reduce_scatter with 24 and with 64 blocks, in turns, in another run:\n\n" + \
        table(("bytes", "24 blocks, us", "64 blocks, us", "NCCL, us"), rows) + "\n" + caption([run])
