# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""The tables of host memory, on one host and between several."""

import math

import results
from measured import (KIB, MIB, behind, caption, from_to, geomean, goals, gpu_ratios, libraries, listed, mean, mean_and_worst, number,
                      size_text, table, us_text, when)
from results import OPS, TITLES

# ---------------------------------------------------------------------------------------------------------------
# One host.

PEERS = ("openmpi", "mpich", "gloo")
TWO_CORES = ("epyc-zen3-2-cores", "epyc-zen5-2-cores", "xeon-amx-2-cores")  # of which there are several runs


def short(machine):
    return results.MACHINES[machine].replace("AMD ", "").replace("Intel ", "")


def state(missed):
    return "missed" if missed else "met"


def behind_texts(counts):
    """'1, 0 and 0 of 12': how many sizes of each run, and of how many where those are not all."""
    most = max(sizes for _, sizes in counts)
    return listed(count if sizes == most else f"{count} of {sizes}" for count, sizes in counts)


def goal_best_peer(measured):
    texts, missed = [], False
    for machine in (*TWO_CORES, "epyc-2-cores", "xeon-16-cores"):
        counts = [behind(run, 1.10) for run in measured.settled(machine) if behind(run, 1.10)[1]]
        missed |= any(count for count, _ in counts)
        texts.append(f"{short(machine)}: {behind_texts(counts)}")
    return ("2 ranks: at no size of any operation more than 1.10 times the time of the best of Open MPI, MPICH and Gloo",
            state(missed), f"beyond it at so many of {max(sizes for _, sizes in counts)} sizes in each run: " + "; ".join(texts))


def goal_means(measured):
    missed, met = [], []
    for machine in (*TWO_CORES, "epyc-2-cores", "xeon-16-cores"):
        below, least = {}, {}
        runs = [run for run in measured.settled(machine) if mean(run, 2, "all_gather", "openmpi")]
        for run in runs:
            for op in OPS:
                reached = mean(run, 2, op, "openmpi")
                if reached is None:
                    continue
                least[op] = min(least.get(op, math.inf), reached)
                if reached < goals.mean_goal(op):
                    below.setdefault(op, []).append(reached)
        if below:
            missed.append(f"{short(machine)}, {len(runs)} run{'s' * (len(runs) > 1)}: " +
                          ", ".join(f"{op} {listed(number(v) for v in values)}" for op, values in below.items()))
        else:
            met.append(f"{short(machine)} (all_reduce {number(least.pop('all_reduce'))}, others from {number(min(least.values()))})")
    return ("2 ranks, from 8 KiB on: all_reduce and reduce_scatter 2.0 times as fast as Open MPI, others 1.3 times (geometric mean)",
            state(missed), "below the goal: " + "; ".join(missed) + ". Met: " + "; ".join(met))


def goal_neighbour(measured):
    texts, missed = [], False
    for machine in (*TWO_CORES, "xeon-16-cores"):
        counts = [behind(run, 1.15) for run in measured.settled(machine, neighbour=True)]
        missed |= any(count for count, _ in counts)
        texts.append(f"{short(machine)}: {behind_texts(counts)}")
    return ("2 ranks beside a program that takes half of one core: at no size more than 1.15 times the time of the best",
            state(missed), f"beyond it at so many of {max(sizes for _, sizes in counts)} sizes in each run: " + "; ".join(texts))


def goal_plain(measured):
    texts, missed, once = [], False, []
    for machine in (*TWO_CORES, "xeon-16-cores"):
        by_size = {}
        for run in measured.settled(machine):
            for (ranks, _, size), row in run.ratios.items():
                if ranks == 2 and "plain" in row:
                    by_size.setdefault(size, []).append(1 / row["plain"])
            if "over_plain" in run.data:
                once.append(run.data["over_plain"])
                for size, key in ((2 * MIB, "2_and_8_mib"), (8 * MIB, "2_and_8_mib"), (32 * MIB, "32_mib")):
                    by_size[size] = by_size.get(size, []) + once[-1][key]
        missed |= max(max(values) for values in by_size.values()) > 1.25
        texts.append(f"{short(machine)}, " + "; ".join(
            f"{size_text(size)}: {from_to(values, lambda v: f'{v:.1f}')}" for size, values in sorted(by_size.items())))
    return ("2 ranks, 1 MiB and more: at most 1.25 times the time of plain copies and folds by as many cores", state(missed),
            "; ".join(texts) + f". send_recv once {max(entry['send_recv_most'] for entry in once):g}")


LIBRARY_BUFFERS = ("xeon-amx-2-cores", "xeon-16-cores")  # machines with such runs


def goal_best_of_library_buffers(measured):
    texts, missed = [], False
    for machine in LIBRARY_BUFFERS:
        runs = measured.with_library_buffers(machine)
        counts = [behind(run, 1.10) for run in runs]
        below = {}
        for run in runs:
            for op in OPS:
                if (reached := mean(run, 2, op, "openmpi")) < goals.mean_goal(op):
                    below.setdefault(op, []).append(reached)
        missed |= any(count for count, _ in counts) or bool(below)
        texts.append(f"{short(machine)}: {listed(count for count, _ in counts)} of {counts[0][1]} sizes" +
                     "".join(f", {op} {listed(map(number, values))}" for op, values in below.items()))
    return ("[buffers that all ranks map](decisions/0028-shared-buffers.md), 2 ranks: both goals over the best and over Open MPI", state(missed),
            "beyond them: " + "; ".join(texts))


def goal_plain_of_library_buffers(measured):
    texts, missed = [], False
    for machine in LIBRARY_BUFFERS:
        runs = measured.with_library_buffers(machine, from_bytes=2 * MIB)
        rows = [(1 / row["plain"], op, size) for run in runs for (_, op, size), row in run.ratios.items() if "plain" in row]
        counts = listed(sum(1 / row["plain"] > 1.25 for row in run.ratios.values() if "plain" in row) for run in runs)
        worst = max(rows)
        missed |= worst[0] > 1.25
        texts.append(f"{short(machine)}: beyond it at {counts} of {len(rows) // len(runs)} sizes, at worst {number(worst[0])} "
                     f"({worst[1]} of {size_text(worst[2])})")
    return ("the same, 1 MiB and more: at most 1.25 times the time of plain copies and folds", state(missed), "; ".join(texts))


def goal_four_ranks(measured):
    run = measured.file("2026-11-22-epyc-2-cores/peers.json")
    rows = [row for (ranks, op, _), row in run.ratios.items() if (ranks, op) == (4, "all_reduce")]
    openmpi, gloo = (min(row[peer] for row in rows) for peer in ("openmpi", "gloo"))
    return ("4 ranks on 2 cores: all_reduce at every size 2 times as fast as Open MPI, 5 times as Gloo",
            state(openmpi < 2 or gloo < 5), f"least on the {short(run.machine)}: {number(openmpi)} and {number(gloo)}")


def goal_many_ranks(measured):
    run = measured.file("2026-11-22-xeon-16-cores/peers_8_and_16_ranks.json")
    texts, missed = [], False
    for ranks in (8, 16):
        rows = {key[2]: row["openmpi"] for key, row in run.ratios.items() if key[0] == ranks}
        large = geomean(value for size, value in rows.items() if 64 * KIB <= size <= 64 * MIB)
        missed |= min(rows.values()) < 1 or large < 2
        texts.append(f"{ranks} ranks: at least {number(min(rows.values()))}, mean {number(large)}")
    return ("8 and 16 ranks on 16 cores: all_reduce at every size as fast as Open MPI, from 64 KiB on 2 times (geometric mean)",
            state(missed), "; ".join(texts))


def goal_choice(measured):
    tried = [(how, total) for (_, how), total in regret_totals(measured) if how.startswith("tried")]
    medians = [total for how, total in tried if "median" in how]
    known = [total for how, total in tried if "known" in how]
    others = [total for how, total in tried if how == "tried"]

    def reached(totals):
        return (f"mean {from_to((t['mean_percent'] for t in totals), lambda v: f'{v:.1f}')} %, worst "
                f"{from_to((t['worst_percent'] for t in totals), worst_text)} %")

    def machines(totals):
        return listed(dict.fromkeys(short(t["run"].machine) for t in totals))

    return ("way chosen by trials: at most 3 % longer than the best one on average, at most 10 % at every size",
            state(any(t["mean_percent"] > 3 or t["worst_percent"] > 10 for _, t in tried)),
            f"median of 3 choices, {machines(medians)}: in {len(medians)} runs {reached(medians)}; one choice, {machines(known)}: in {len(known)} runs with "
            f"ratios known to 2 % {reached(known)}; all machines: in {len(others)} others {reached(others)}: see "
            "[the choice](#whether-the-choice-is-right)")


def goal_c_interface(measured):
    run = measured.file("2026-11-21-xeon-2-cores/c_interface.json")
    beyond = [row for row in run.rows if row["more_ns"] > (100 if row["op"] != "send_recv" else 200)]
    small = [row["more_ns"] for row in run.rows if row["bytes"] == 8 and row["op"] != "send_recv"]
    pairs = [row["more_ns"] for row in run.rows if row["op"] == "send_recv"]
    return ("a call through nccl.h costs at most 100 ns more than through C++", state(beyond),
            f"8 B {from_to(small, str)} ns; a send and a receive in a group {from_to(pairs, str)} ns, two operations; beyond: " +
            (", ".join(f"{row['op']} of {size_text(row['bytes'])}, {row['ranks']} ranks, {row['more_ns']} ns" for row in beyond)))


def host_goals(measured):
    rows = [goal(measured) for goal in (goal_best_peer, goal_means, goal_neighbour, goal_plain,
                                        goal_best_of_library_buffers, goal_plain_of_library_buffers, goal_four_ranks, goal_many_ranks,
                                        goal_choice, goal_c_interface)]
    rows.append(("at most 8 MiB of shared pages per rank", "met", "6 MiB (`TUTTI_SHARED_BYTES`)"))  # a setting, not a measurement
    return table(("goal", "state", "reached"), rows)


def ratio_cells(run, ranks, peer):
    """Of each operation the mean from 8 KiB on, and in brackets the worst of all sizes where they are known."""
    found = run.ratios if run.kind == "peers" else {}
    cells = []
    for op in OPS:
        sizes = [row[peer] for key, row in found.items() if key[:2] == (ranks, op) and peer in row]
        reached = mean(run, ranks, op, peer)
        cells.append("–" if reached is None else number(reached) + (f" ({number(min(sizes))})" if sizes else ""))
    return cells


def library_buffer_rows(measured, machine):
    runs = measured.with_library_buffers(machine)
    return [[short(machine), "2, buffers that all map", TITLES[peer], *[from_to(mean(run, 2, op, peer) for run in runs) for op in OPS]]
            for peer in ("openmpi", "mpich")]


def host_ratios(measured):
    """A group of rows for each machine, the newest first, and below the table a line on what was measured there."""
    rows, captions = [], []
    for machine in TWO_CORES:
        both = []
        for neighbour in (False, True):
            runs = measured.settled(machine, neighbour)
            both += runs
            for peer in ("openmpi", "mpich"):
                cells = [from_to(mean(run, 2, op, peer) for run in runs) for op in OPS]
                rows.append([short(machine), "2, beside a neighbour" if neighbour else "2", TITLES[peer], *cells])
        if machine in LIBRARY_BUFFERS:
            rows += library_buffer_rows(measured, machine)
            both += measured.with_library_buffers(machine)
        options = "[--neighbour|--library-buffers]" if machine in LIBRARY_BUFFERS else "[--neighbour]"
        captions.append(caption(both, f"bench/peers/run.py {options} --ranks 2 --rounds 1 --libraries tutti,openmpi,mpich[,plain]"))
    run = measured.file("2026-11-22-epyc-2-cores/peers.json")
    rows += [[short(run.machine), str(ranks), TITLES[peer], *ratio_cells(run, ranks, peer)] for ranks in (2, 4) for peer in PEERS]
    captions.append(caption([run]))
    idle, beside = (measured.settled("xeon-16-cores", neighbour) for neighbour in (False, True))
    for title, runs in (("2", idle), ("2, beside a neighbour", beside)):
        for peer in ("openmpi", "mpich"):
            means = ([value for run in runs if (value := mean(run, 2, op, peer))] for op in OPS)
            rows.append([short(runs[0].machine), title, TITLES[peer], *map(from_to, means)])
    rows += library_buffer_rows(measured, "xeon-16-cores")
    more = measured.file("2026-11-22-xeon-16-cores/peers_8_and_16_ranks.json")
    rows += [[short(more.machine), str(ranks), "Open MPI", *ratio_cells(more, ranks, "openmpi")] for ranks in (8, 16)]
    captions.append(caption([*idle, *beside, *measured.with_library_buffers("xeon-16-cores"), more],
                            "bench/peers/run.py [--neighbour|--library-buffers] --ranks N --libraries tutti,openmpi[,mpich,plain]"))
    shown = [[row[0] if not index or rows[index - 1][0] != row[0] else "", *row[1:]] for index, row in enumerate(rows)]
    return table(["machine", "ranks", "over", *OPS], shown) + "\n" + "".join(f"* {line}" for line in captions)


def host_runs(measured):
    """What host_ratios sums up of machines with several runs, run by run."""
    rows = []
    runs = [run for machine in TWO_CORES for found in (measured.comparisons(machine), measured.comparisons(machine, True),
                                                       measured.with_library_buffers(machine)) for run in found]
    for run in sorted(runs, key=lambda run: run.data["date"]):
        count, sizes = behind(run, 1.15 if run.neighbour else 1.10)
        machine = short(run.machine).replace("EPYC of ", "").replace(" with AMX", "").replace(", 2 cores", "")
        how = "neighbour" if run.neighbour else "buffers that all map" if run.library_buffers else "idle"
        cells = [when(run), f"{machine}, {how}", library_cell(run), f"{count} of {sizes}"]
        for peer in ("openmpi", "mpich"):
            rows.append([*cells, TITLES[peer], *(number(mean(run, 2, op, peer)) for op in OPS)])
            cells = [""] * len(cells)
    return table(["when", "machine", "Tutti", "sizes behind", "over", *OPS], rows)


def library_cell(run):
    return f"`{run.data['revision']}`" if run.data.get("revision") else "before " + listed(
        f"`{commit}`" for commit in run.data["recorded_in"].split(" and "))


def worst_text(percent):
    return f"{percent:.0f}" if percent >= 20 else f"{percent:.1f}"


def how_chosen(run):
    if choices := run.data.get("choices"):
        return f"{run.data['choice']}, median of {choices} choices"
    known = run.data.get("known_to_percent")
    return f"{run.data['choice']}, ratios known to {known} %" if known else run.data["choice"]


def single_choices(totals, field, text, unit=""):
    """What is added to a cell about medians of several choices: the same of single ones."""
    values = [t["single"][field] for t in totals if "single" in t]
    return f" ({from_to(values, text)}{unit})" if values else ""


def regret_totals(measured):
    """[((machine, choice), total)] of each run that compared chosen ways with all others."""
    found = []
    for run in measured.runs:
        if run.kind == "regret":
            found.append(((run.machine, how_chosen(run)), {**run.data["total"], "ranks": run.rows[0]["ranks"], "run": run}))
        elif run.kind == "regret_totals":
            found += [((run.machine, row["choice"]), {**row, "run": run}) for row in run.rows]
    return found


def choice(measured):
    groups = {}
    for group, total in regret_totals(measured):
        groups.setdefault(group, []).append(total)
    rows = []
    for machine in (*TWO_CORES, "xeon-16-cores", "xeon-32-cores"):
        for how in ("tried", "tried, ratios known to 2 %", "tried, median of 3 choices"):
            if totals := groups.get((machine, how)):
                rows.append([short(machine), listed(sorted({total["ranks"] for total in totals})), how, str(len(totals)),
                             from_to((t["mean_percent"] for t in totals), lambda v: f"{v:.1f}") + " %",
                             from_to((t["worst_percent"] for t in totals), worst_text) + " %" + single_choices(totals, "worst_percent", worst_text, " %"),
                             f"{from_to((t['beyond_10_percent'] for t in totals), str)} of {from_to((t['sizes'] for t in totals), str)}",
                             libraries([t["run"] for t in totals]).removeprefix("Tutti ")])
    return table(("machine", "ranks", "choice", "runs", "longer, mean", "longer, worst", "sizes beyond 10 %", "Tutti"), rows)


def choice_runs(measured):
    """The same run by run."""
    rows = []
    for run in measured.runs:
        totals = [{**run.data["total"], "ranks": run.rows[0]["ranks"], "choice": how_chosen(run), "remark": run.data.get("remark")}] \
            if run.kind == "regret" else run.rows if run.kind == "regret_totals" else []
        for total in totals:
            at = f", {total['worst_at']}" if "worst_at" in total else ""
            rows.append([f"{run.day}, {total['time']}" if total.get("time") else when(run), short(run.machine), total["ranks"],
                         total["sizes"], total["choice"], f"{total['mean_percent']:g} %",
                         f"{total['worst_percent']:g} %{single_choices([total], 'worst_percent', worst_text, ' %')}{at}",
                         f"{total['beyond_10_percent']}{single_choices([total], 'beyond_10_percent', str)}", library_cell(run), total.get("remark") or ""])
    return table(("when", "machine", "ranks", "sizes", "choice", "longer, mean", "longer, worst", "sizes beyond 10 %", "Tutti",
                  "remark"), rows)


def c_interface(measured):
    run = measured.file("2026-11-21-xeon-2-cores/c_interface.json")
    rows = []
    for op in OPS:
        cells = [op]
        for size, ranks in ((8, 1), (8, 2), (64 * KIB, 1), (64 * KIB, 2)):
            row = next(r for r in run.rows if (r["op"], r["bytes"], r["ranks"]) == (op, size, ranks))
            cells.append(f"{row['cpp_ns']} {row['more_ns']:+d} ({row['low_ns']} to {row['high_ns']})")
        rows.append(cells)
    return table(("operation", "8 B, 1 rank", "8 B, 2 ranks", "64 KiB, 1 rank", "64 KiB, 2 ranks"), rows) + "\n" + caption([run])


# ---------------------------------------------------------------------------------------------------------------
# Several hosts.

HOSTS = "2026-11-25-epyc-zen5-2-cores/hosts_"


def hosts_goals(measured):
    two = measured.file(HOSTS + "2_ranks.json").data["of_three_runs"]
    cards = [row["over_one"] for row in measured.file(HOSTS + "cards.json").rows if row["cards"] == "1gbit,1gbit"]
    mixed = [row["over_one"] for row in measured.file(HOSTS + "cards.json").rows if row["cards"] == "1gbit,100mbit"]
    h100 = measured.file("2026-11-25-h100/hosts_2_ranks.json")
    three, idle = h100.data["of_three_runs"], h100.data["idle_percent_of_a_core"]
    four = {point.bytes: point.ratio for point in measured.file("2026-11-25-h100/hosts_4_ranks.json").points if point.ratio}
    least_us = next(point.us for point in h100.points if (point.op, point.bytes, point.library) == ("all_reduce", 8, "tutti"))
    init = measured.file("2026-11-25-epyc-zen5-2-cores/init.json").rows
    few = max(row["worst_s"] for row in init if row["ranks"] == 256)
    many = max(row["worst_s"] for row in init if row["ranks"] == 1024 and row["hosts"] > 1)
    memory = max(row["mb_per_rank"] for row in init if row["hosts"] > 1 or row["ranks"] == 256)
    behind_text = (f"1 MiB {listed(number(v) for v in two['time_of_1_mib_over_openmpi'])} times Open MPI's time, "
                   f"256 KiB once {number(two['time_of_256_kib_over_best'][0])} times the best's")
    return table(("goal", "state", "reached"), [
        ("all_reduce, 2 hosts of 1 rank: 8 B at most 1.3 times as long as raw TCP", state(two["time_of_8_b_over_raw"][1] > 1.3),
         from_to(two["time_of_8_b_over_raw"])),
        ("the same: no size more than 10 % behind the best of Open MPI, MPICH and Gloo",
         state(max(two["time_of_1_mib_over_openmpi"] + two["time_of_256_kib_over_best"]) > 1.1), behind_text),
        ("the same: 1.3 times as fast as the best of them, to 64 KiB and from there on (geometric mean)",
         state(min(two["mean_over_best_to_64_kib"] + two["mean_over_best_from_64_kib"]) < 1.3),
         f"{from_to(two['mean_over_best_to_64_kib'])}, and {from_to(two['mean_over_best_from_64_kib'])}"),
        ("the same: 16 MiB at 0.9 of raw TCP's rate", state(min(two["rate_of_16_mib_over_raw"]) < .9),
         from_to(two["rate_of_16_mib_over_raw"])),
        ("two cards of 1 Gbit/s: 1.85 times one; with one of 100 Mbit/s beside: as fast as the fast one",
         state(min(cards) < 1.85 or min(mixed) < .95), f"{from_to(cards)}; {from_to(mixed)}"),
        ("init: 256 ranks in 2 s, 1024 on several hosts in 10 s, at most 4 MB a rank", state(few > 2 or many > 10 or memory > 4),
         f"{few:g} s, {many:g} s, {memory:g} MB"),
        ("GPU memory, 2 hosts: all_reduce of 8 B in 20 us", state(least_us > 20), f"{least_us:g} us"),
        ("the same: all_reduce 2.5 times as fast as NCCL at 64 KiB, from 4 MiB on 3 times",
         state(three["all_reduce_64_kib"][0] < 2.5 or three["all_reduce_from_256_kib"][0] < 3),
         f"{from_to(three['all_reduce_64_kib'])}; {from_to(three['all_reduce_from_256_kib'])} from 256 KiB on"),
        ("the same: send_recv 3 times from 256 KiB on", state(three["send_recv_from_256_kib"][0] < 3),
         from_to(three["send_recv_from_256_kib"])),
        ("GPU memory, 4 hosts: all_reduce 2 times", state(min(four.values()) < 2),
         ", ".join(f"{size_text(size)} {number(value)}" for size, value in four.items())),
        ("GPU memory, a rank: at most 4 threads at work; idle 0.1 % of a core, 1 % with a live capture",
         state(h100.data["threads_per_rank"] > 4 or idle["without_capture"][1] > .1 or idle["with_capture"][1] > 1),
         f"{h100.data['threads_per_rank']}; {from_to(idle['without_capture'])} %; {from_to(idle['with_capture'])} %"),
    ])


def hosts_ratios(measured):
    """Host memory against libraries over TCP, GPU memory against NCCL: to 64 KiB, and from there on."""
    peers = ("raw", *PEERS, "nccl")
    parts = goals.size_ranges(2)
    rows, host, gpu = [], [], []
    for name, title in (("2_ranks", "2 hosts of 1 rank"), ("4_ranks", "2 hosts of 2 ranks"),
                        ("4_ranks_no_yield", "2 hosts of 2 ranks, Open MPI polls"), ("6_ranks", "3 hosts of 2 ranks")):
        run = measured.file(f"{HOSTS}{name}.json")
        host.append(run)
        cells = []
        for peer in peers:
            texts = []
            for key, (_, least, most) in zip(("to_64_kib", "from_64_kib"), parts):
                inside = [row[peer] for k, row in run.ratios.items() if peer in row and least <= k[2] <= most]
                middle = mean(run, run.rows[0]["ranks"], "all_reduce", peer, key) or geomean(inside)
                texts.append(number(middle) + (f" ({number(min(inside))})" if inside else ""))
            cells.append("–" if texts == ["–", "–"] else "; ".join(texts))
        rows.append([f"all_reduce, {title}", *cells])
    for path, title in (("2026-11-25-h100/hosts_2_ranks.json", "2 hosts of 1 rank, one H100"),
                        ("2026-11-25-h100/hosts_4_ranks.json", "4 hosts of 1 rank, one H100"),
                        ("2026-11-27-h200-4-gpus/hosts.json", "2 hosts of 2 ranks, four H200")):
        run = measured.file(path)
        gpu.append(run)
        for op in dict.fromkeys(point.op for point in run.points):
            found = [gpu_ratios(run, run.rows[0]["ranks"], op, "stream", least - 1, most) for _, least, most in parts]
            rows.append([f"{op}, {title}", *["–"] * 4, "; ".join(mean_and_worst(values) for values in found)])
    captions = [caption(host, "bench/peers/run.py --hosts N --ranks N [--no-yield] --ops all_reduce"), caption(gpu[:2]), caption(gpu[2:])]
    return table(["to 64 KiB; from there on", *(TITLES[peer] for peer in peers)], rows) + "\n" + "".join(f"* {line}" for line in captions)


def hosts_sizes(measured):
    text = ""
    for name, title in (("2_ranks", "2 hosts of 1 rank"), ("4_ranks", "2 hosts of 2 ranks"), ("6_ranks", "3 hosts of 2 ranks")):
        run = measured.file(f"{HOSTS}{name}.json")
        peers = [name for name in dict.fromkeys(point.library for point in run.points) if name != "tutti"]
        points = {(point.bytes, point.library): point for point in run.points}
        rows = [[size_text(size), us_text(points[size, "tutti"].us),
                 *(f"{us_text(points[size, peer].us)} ({number(points[size, peer].ratio)})" for peer in peers)]
                for size in dict.fromkeys(point.bytes for point in run.points)]
        head = [f"all_reduce, {title}", "Tutti, us", *(f"{TITLES[peer]}, us" for peer in peers)]
        text += table(head, rows) + "\n" + caption([run]) + "\n"
    return text.rstrip("\n") + "\n"


def hosts_gpu_sizes(measured):
    text = ""
    for path, title in (("2026-11-25-h100/hosts_2_ranks.json", "2 hosts of 1 rank"),
                        ("2026-11-25-h100/hosts_4_ranks.json", "4 hosts of 1 rank"),
                        ("2026-11-27-h200-4-gpus/hosts.json", "2 hosts of 2 ranks")):
        run = measured.file(path)
        ops = list(dict.fromkeys(point.op for point in run.points))
        points = {(point.op, point.bytes, point.library): point for point in run.points}
        rows = [[size_text(size), *(f"{us_text(points[op, size, 'tutti'].us)} ({number(points[op, size, 'nccl'].ratio)})" for op in ops)]
                for size in dict.fromkeys(point.bytes for point in run.points)]
        text += table([title, *(f"{op}, us" for op in ops)], rows) + "\n" + caption([run]) + "\n"
    return text.rstrip("\n") + "\n"


def init(measured):
    run = measured.file("2026-11-25-epyc-zen5-2-cores/init.json")
    return table(("ranks", "processes, hosts", "median, worst", "memory a rank"), [
        (row["ranks"], f"{row['processes']}, {row['hosts']}", f"{row['median_s']:g} s, {row['worst_s']:g} s", f"{row['mb_per_rank']:g} MB")
        for row in run.rows]) + "\n" + caption([run])


def cards(measured):
    run = measured.file(HOSTS + "cards.json")
    sizes = dict.fromkeys(row["bytes"] for row in run.rows)
    ways = dict.fromkeys(row["cards"] for row in run.rows)
    def cell(size, way):
        row = next(r for r in run.rows if (r["bytes"], r["cards"]) == (size, way))
        return f"{row['us']:.0f}" + (f" ({number(row['over_one'])})" if "over_one" in row else "")
    return table(["bytes", *(f"{way}, us" for way in ways)], [[size_text(size), *(cell(size, way) for way in ways)] for size in sizes]) + \
        "\n" + caption([run])


def walks(measured):
    run = measured.file("2026-11-27-xeon-2-cores/walks.json")
    rows = []
    for row in run.rows:
        longest = max(row["steps"], key=lambda step: step["seconds"])
        rows.append((row["walk"], f"{row['seconds']:.0f} s", f"`{longest['command'].split(' ./')[0]}`: {longest['seconds']:.0f} s",
                     "met" if row["seconds"] <= row["limit_s"] else "missed"))
    size = run.data["wheel_bytes"] / 1e6
    rows.append(("size of the wheel", f"{size:.1f} MB", "", "met" if size < 10 else "missed"))
    rows.append(("`import tutti`", f"{run.data['import_ms']:.0f} ms", "", "met" if run.data["import_ms"] < 50 else "missed"))
    return table(("what", "in all", "longest command", "goal: 3 minutes, 10 MB, 50 ms"), rows) + "\n" + caption([run])
