#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Makes the performance explorer: one HTML page with all times of the files beside this one. It needs no network.

    python3 bench/results/explorer.py [FILE]        (default: build/explorer.html)

The page's parts are in explorer/. Its address keeps what is chosen, so a link shows one chart:
explorer.html#run=2026-11-22-epyc-2-cores/peers&op=all_reduce&ranks=4&show=ratio
"""

import argparse
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import results  # noqa: E402

DEFAULT = os.path.join(results.ROOT, "build", "explorer.html")
WHAT = {"peers": "with other libraries", "gpu": "with NCCL", "regret": "chosen and best ways", "blocks": "by number of blocks"}


def what(run):
    """What sets a run apart from others of its machine, in some words."""
    words = [WHAT[run.kind]]
    if run.hosts > 1:
        words.append(f"{run.hosts} hosts")
    if run.neighbour:
        words.append("beside a neighbour")
    if run.library_buffers:
        words.append("buffers of the libraries")
    if any("group" in row for row in run.rows):
        words.append("groups")
    return ", ".join(words)


def libraries(run):
    """'Tutti abc1234, Open MPI 4.1.4'."""
    revision = run.data.get("revision")
    words = [f"Tutti {revision}" if revision else f"Tutti before {run.data['recorded_in']}"]
    words += [f"{results.TITLES.get(name, name)} {run.version(name)}" for name in run.data.get("versions", {})
              if name != "tutti" and run.version(name)]
    return ", ".join(words)


def groups(runs):
    """Lists of runs that are shown as one: a comparison of ways has a file for each number of ranks."""
    found = {}
    for run in runs:
        apart = run.path if run.kind != "regret" else (run.folder, run.data["date"], run.library, run.data.get("remark"))
        found.setdefault(apart, []).append(run)
    return list(found.values())


def described(runs):
    """A group of runs as the page wants it, without its series."""
    first = runs[0]
    time = f"{first.day} {first.minute}".rstrip()
    machine = re.sub(r"\b(AMD|Intel|NVIDIA) ", "", first.machine_text)
    words = what(first) + (f", run {first.data['run']}" if "run" in first.data else "")
    command = first.data["command"] if len(runs) == 1 else re.sub(r"--ranks \d+", "--ranks N", first.data["command"])
    return {"id": first.path[:-len(".json")], "machine": first.machine_text, "when": time, "what": words,
            "label": f"{time}, {words}, {libraries(first).split(',')[0]}", "short": f"{machine}, {time[5:]}",
            "libraries": libraries(first), "command": command, "remark": first.data.get("remark", "").rstrip("."),
            "files": [run.path for run in runs]}


def rounded(value):
    return None if value is None else float(f"{value:.5g}")


def series_of(runs, name):
    """[{"run", "op", "ranks", "mode", "library", "count", "bytes": [...], "us": [...], "ratio": [...]}]"""
    found = {}
    for run in runs:
        for point in run.points:
            key = (point.op, point.ranks, point.mode, point.library)
            found.setdefault(key, {})[point.bytes] = point
    made = []
    for (op, ranks, mode, library), points in found.items():
        points = [points[size] for size in sorted(points)]
        made.append({"run": name, "op": op, "ranks": ranks, "mode": mode, "library": library, "count": points[0].group,
                     "bytes": [point.bytes for point in points], "us": [rounded(point.us) for point in points],
                     "ratio": [rounded(point.ratio) for point in points]})
    return made


def data(runs):
    """All that the page knows."""
    shown = [group for group in groups(run for run in runs if run.points)]
    shown.sort(key=lambda group: group[0].data["date"], reverse=True)
    shown.sort(key=lambda group: group[0].machine_text)
    described_runs = [described(group) for group in shown]
    names = [(run["machine"], run["label"]) for run in described_runs]
    for run, name in zip(described_runs, names):
        if names.count(name) > 1:
            run["label"] += f" ({os.path.basename(run['id'])})"
            run["what"] += f" ({os.path.basename(run['id'])})"
    series = [one for group, run in zip(shown, described_runs) for one in series_of(group, run["id"])]
    used = {one["library"] for one in series}
    most = max(described_runs, key=lambda run: sum(len(one["bytes"]) for one in series if one["run"] == run["id"]))
    return {"ops": list(results.OPS), "libraries": {name: title for name, title in results.TITLES.items() if name in used},
            "first": most["id"], "runs": described_runs, "series": series}


def page(runs):
    """The whole page as text."""
    def part(name):
        with open(os.path.join(HERE, "explorer", name), encoding="utf-8") as file:
            return file.read().rstrip("\n")

    # What would end the element, or begin a comment in it, stands for itself in JSON with an escape.
    embedded = json.dumps(data(runs), separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return part("page.html").replace("@STYLE@", part("page.css")).replace("@SCRIPT@", part("page.js")).replace("@DATA@", embedded) + "\n"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", default=DEFAULT, help="where the page goes (default: build/explorer.html)")
    options = parser.parse_args(arguments)
    try:
        text = page(results.load_all())
    except results.ResultsError as error:
        print(error)
        return 1
    os.makedirs(os.path.dirname(os.path.abspath(options.file)), exist_ok=True)
    with open(options.file, "w", encoding="utf-8") as file:
        file.write(text)
    print(f"wrote {os.path.relpath(options.file)}, {len(text) >> 10} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
