# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/diagnosis.md: what the campaign on planted faults found (tests/diag/campaign.cc)."""

import re

from measured import table
from results import ResultsError

MACHINE = "diagnosis"
SEEDS = 1_000_003  # a case's seed is the half's seed times this, plus its number
BENIGN = ("short pause", "long pause", "slow rank", "nothing")
# In the order of tests/diag/host_case.h: what is planted, and how.
KINDS = {
    "stop": "`kill -STOP` on a rank", "kill": "`kill -KILL` on a rank", "sleep": "it sleeps instead of calling",
    "blocked write": "it is blocked in `write()`", "other call": "it calls with another operator",
    "two orders": "half of the ranks call two communicators in the other order", "never comes": "it does not make the communicator",
    "no receive": "it never receives what the rank before it sends", "cut off": "the cable of its host is taken out at the switch",
    "link tenth": "`tc`: what leaves its host goes at a tenth of the speed",
    "link half": "`tc`: at four tenths", "link always": "`tc`: its host's card has a tenth of the speed of all others, from the beginning",
    "link stalled": "`nft` drops what one rank sends over its connections to another one",
    "starved": "its control group has 4 % of a core, and a neighbour in it", "two faults": "two ranks are stopped or asleep",
    "planted lie": "it sleeps, and its black box contradicts itself", "short pause": "it sleeps for 0.9 s",
    "long pause": "it sleeps for 2.5 to 5.5 s", "slow rank": "it sleeps for 20 ms before each call", "nothing": "",
}


def seconds(values, part):
    """A percentile of times, or of nothing a dash."""
    values = sorted(values)
    return f"{values[min(len(values) - 1, int(part * (len(values) - 1) + 0.5))]:.2f}" if values else "-"


def campaign(measured, where):
    """The rows of both halves, by seed; each row has the number of its half."""
    rows = {}
    for run in measured.of(MACHINE, "campaign"):
        for row in run.rows:
            if row["where"] == where:
                rows[(row["seed"], row["kind"])] = row
    if not rows:
        raise ResultsError(f"bench/results/*-{MACHINE} has no cases of '{where}'")
    halves = sorted({seed // SEEDS for seed, _ in rows})
    return [[row for (seed, _), row in sorted(rows.items()) if seed // SEEDS == half] for half in halves]


def count(rows, key=None):
    return sum(1 for row in rows if key is None or row.get(key))


def times(rows, key):
    return [row[key] for row in rows if key in row]


def hosts(measured):
    """Each kind of case on several hosts: what was told of it in the second half, and how soon."""
    first, second = campaign(measured, "hosts")
    names = [name for name in KINDS if any(row["kind"] == name for row in first + second)]
    faulty = [name for name in names if name not in BENIGN]
    lines = []
    for title, kinds in [*((name, [name]) for name in names), ("all faults", faulty), ("all benign", BENIGN)]:
        one, two = ([row for row in half if row["kind"] in kinds] for half in (first, second))
        cells = [f"{count(one)}, {count(one, 'right')}", f"{count(two)}, {count(two, 'right')}"]
        cells += [count(two, key) for key in ("unknown", "accuses", "silent")]
        cells += [", ".join(seconds(times(two, "first_s"), part) for part in (0.5, 0.99, 1)),
                  ", ".join(seconds(times(two, "last_s"), part) for part in (0.5, 0.99, 1)),
                  ", ".join(seconds(times(two, "warn_s"), part) for part in (0.5, 1))]
        lines.append([title, *(cell if title not in BENIGN or title == "long pause" or not isinstance(cell, str) or cell[0].isdigit()
                               else "-" for cell in cells)])
    return table(["case", "first half: cases, right", "second half: cases, right", "unknown", "wrong", "silent",
                  "first rank p50, p99, max, s", "last rank p50, p99, max, s", "WARN p50, max, s"], lines)


def misses(measured):
    lines = []
    for number, half in enumerate(campaign(measured, "hosts"), 1):
        for row in half:
            if not row["right"]:
                what = "; ".join(row.get("wrong", ["nothing was told"]))
                lines.append([number, row["seed"], row["kind"], row["name"], re.sub(r"\s+", " ", what)[:300].replace("|", "/")])
    return table(["half", "seed", "case", "what it was", "what was told"], lines or [["-", "-", "-", "-", "-"]])


def shapes(measured):
    """How the faulty cases of the second half are spread, and how many of each are right."""
    second = [row for row in campaign(measured, "hosts")[-1] if row["kind"] not in BENIGN]

    def values(row):
        rank, ranks = re.match(r"rank (\d+)(?: and \d+)? of (\d+)", row["name"]).groups()
        inner = re.search(r"\((name spaces|host ids): ([^)]*)\), ([^,]*), (\S+) (\S+), (\d+) floats", row["name"])
        place = "first rank" if rank == "0" else "last rank" if int(rank) == int(ranks) - 1 else "between"
        yield "hosts", str(inner[2].count(",") + 1)
        yield "hosts are", inner[1]
        yield "place", place
        yield "ranks", ranks
        yield "phase", inner[3]
        yield "algorithm", inner[4]
        yield "protocol", inner[5]
        yield "floats of a call", inner[6]

    found = {}
    for row in second:
        for name, value in values(row):
            one = found.setdefault(name, {}).setdefault(value, [0, 0])
            one[0] += 1
            one[1] += row["right"]
    order = {"init": 0, "first call": 1, "steady": 2, "first rank": 0, "between": 1, "last rank": 2}

    def place_of(value):
        return (order.get(value, 9), int(value) if value.isdigit() else 0, value)

    return table(["of faulty cases", "so many, of them right"],
                 [[name, "; ".join(f"{value}: {all_}, {right}" for value, (all_, right) in
                                   sorted(all_values.items(), key=lambda item: place_of(item[0])))]
                  for name, all_values in found.items()])


def others(measured, where):
    """Each kind of case on the model, or on processes of one host by the looks of `tutti top`."""
    first, second = campaign(measured, where)
    lines = []
    for name in dict.fromkeys(row["kind"] for row in second):
        one, two = ([row for row in half if row["kind"] == name] for half in (first, second))
        lines.append([name, f"{count(one)}, {count(one, 'right')}", f"{count(two)}, {count(two, 'right')}",
                      ", ".join(seconds(times(two, "first_s"), part) for part in (0.5, 0.99, 1))])
    lines.append(["all", f"{count(first)}, {count(first, 'right')}", f"{count(second)}, {count(second, 'right')}", ""])
    return table(["case", "first half: cases, right", "second half: cases, right", "first told p50, p99, max, s"], lines)


def sentences(measured):
    """A sentence of each kind, the first of the second half."""
    second = campaign(measured, "hosts")[-1]
    lines = []
    for name, how in KINDS.items():
        rows = [row for row in second if row["kind"] == name and row["right"] and "sentence" in row]
        if rows:
            lines.append([name, how, rows[0]["seed"], f"``{rows[0]['sentence'].replace('|', '/')}``"])
    return table(["case", "what is done", "seed", "what a rank logs"], lines)


def score(named, guilty):
    if set(named) == set(guilty):
        return "right"
    if not named:
        return "nobody"
    return "some" if set(named) < set(guilty) else "else"


def tools(measured):
    """Whom Tutti, RAS clients and torchfrtrace name of the faults of the second half, while they last."""
    second = [row for row in campaign(measured, "hosts")[-1] if row["kind"] not in BENIGN]
    flights = {row["seed"]: row["named"] for run in measured.of(MACHINE, "flights") for row in run.rows}
    lines = []
    for name in [*KINDS, "all faults"]:
        rows = [row for row in second if name in (row["kind"], "all faults") and row["seed"] in flights]
        if not rows:
            continue
        tutti = {"right": count(rows, "right"), "nobody": count(rows, "silent") + count(rows, "unknown"), "else": count(rows, "accuses")}
        cells = [[tutti.get(key, 0) for key in ("right", "some", "nobody", "else")]]
        for whom in (lambda row: row.get("ras", []), lambda row: flights[row["seed"]]):
            found = [score(whom(row), row.get("guilty", [])) for row in rows]
            cells.append([found.count(key) for key in ("right", "some", "nobody", "else")])
        lines.append([name, len(rows), *(", ".join(str(value) for value in cell) for cell in cells)])
    return table(["case", "cases", "Tutti: right, some, nobody, else", "RAS clients", "torchfrtrace"], lines)


def counted(rows, key):
    total = {}
    for row in rows:
        for name, times_ in row[key].items():
            total[name] = total.get(name, 0) + times_
    return ", ".join(f"{times_} {name}" for name, times_ in sorted(total.items(), key=lambda item: -item[1])) or "none"


GPU_CASES = {  # in the order of tests/gpu/verdict_case.cc
    "late-host": "does not call", "late-gpu": "has called, and a function of the host keeps its stream",
    "busy-gpu": "has called, and a kernel of the program has its whole GPU", "late-send": "does not send",
    "late-graph": "does not launch a graph",
    "orders": "puts the calls of two communicators into its stream in the other order",
    "broken-gpu": "has lost its GPU's context: a kernel of the program wrote where no memory is",
    "well": "makes all calls, with pauses of 0.4 s",
}


def gpus(measured):
    """What ranks whose kernels wait are told, on one host and on two; and how many cases by dice are right."""
    runs = measured.of("h200-4-gpus", "verdicts")
    fixed = {run.rows[0]["hosts"]: run.rows for run in runs if "--cases 0" in run.data["command"]}
    dice = [run.rows for run in runs if "--cases 0" not in run.data["command"]]
    lines = []
    for name, what in GPU_CASES.items():
        one, two = ([row for row in fixed[hosts_] if row["case"] == name] for hosts_ in (1, 2))
        told = [second for row in one + two for second in row["told_s"]]
        sentence = re.sub(r"; ranks? [^;]* waited for .*", "", two[0]["sentence"])
        cells = [f"{count(rows)}, {count(rows, 'right')}" for rows in (one, two)]
        for rows in dice:
            some = [row for row in rows if row["case"] == name]
            cells.append(f"{count(some)}, {count(some, 'right')}")
        lines.append([what, *cells, f"{min(told):.1f} to {max(told):.1f}" if told else "-", f"``{sentence}``" if sentence else "nothing, in 5 s"])
    totals = [f"{count(rows)}, {count(rows, 'right')}" for rows in (*fixed.values(), *dice)]
    lines.append(["all", *totals, "", ""])
    return table(["a rank", "1 host: runs, right", "2 hosts of 2", "first dice", "second dice", "told after, s", "what all others are told, on 2 hosts"],
                 lines)


def soak(measured):
    """Jobs without a fault, with benign pauses."""
    runs = measured.of(MACHINE, "soak_totals")
    rows = [row for run in runs for row in run.rows]
    return table(["", ""], [
        ["jobs of processes on 1 to 5 hosts", sum(row["jobs"] for row in rows)],
        ["their time", f"{sum(row['job_hours'] for row in rows):.1f} job-hours, {sum(row['rank_hours'] for row in rows):.0f} rank-hours, "
         f"in {sum(row['seconds'] for row in rows) / 60:.1f} minutes"],
        ["pauses", counted(rows, "pauses")],
        ["sentences at INFO, of all ranks together", counted(rows, "told")],
        ["lines at WARN", sum(row["warnings"] for row in rows)],
        ["ranks that failed", sum(row["failed"] for row in rows)],
    ])


def hours(measured):
    """The same jobs of the model, for very long."""
    rows = [row for run in measured.of(MACHINE, "hours") for row in run.rows]
    looks = sum(row["looks"] for row in rows)
    return table(["", ""], [
        [f"jobs of {rows[0]['ranks']} ranks on the model", sum(row["jobs"] for row in rows)],
        ["their time", f"{sum(row['hours'] for row in rows):.0f} job-hours; {sum(row['worked_out_hours'] for row in rows):.0f} of them worked out "
         "millisecond by millisecond, in the others no rank waits for half a second"],
        ["events", counted(rows, "events")],
        ["looks that were judged", f"{looks}, in {sum(row['judge_ms'] * row['looks'] for row in rows) / looks:.2f} ms of a core each, "
         f"at most {max(row['longest_judge_ms'] for row in rows):.0f}"],
        ["sentences", counted(rows, "told")],
        ["at WARN", sum(row["warnings"] for row in rows)],
    ])
