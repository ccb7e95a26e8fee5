#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Compares Tutti with Open MPI, MPICH and Gloo on this machine.

`./dev bench peers` builds the programs and calls this. For every rank count and operation the libraries run in turn,
several rounds, so that a drift of the machine meets all of them. A figure is the median over the rounds of what the
programs report (peer.h says how they measure). Goals that are missed are marked; they do not change the exit status,
which is 1 only when Tutti's own program failed.
"""

import argparse
import datetime
import json
import os
import platform
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import goals
import plot

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
LIBRARIES = ("tutti", "openmpi", "mpich", "gloo")
TITLES = {"tutti": "Tutti", "openmpi": "Open MPI", "mpich": "MPICH", "gloo": "Gloo"}
OPS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "gather", "scatter", "all_to_all",
       "send_recv")


# ---------------------------------------------------------------------------------------------------------------
# Starting one program with all its ranks.

class Peer:
    """How a library's program is started."""

    def __init__(self, name, build):
        self.name = name
        self.program = os.path.join(build, "bench", "peers", f"{name}_peer")
        self.launcher = {"tutti": os.path.join(build, "tools", "tutti"), "openmpi": shutil.which("mpirun.openmpi"),
                         "mpich": shutil.which("mpirun.mpich"), "gloo": ""}[name]

    def why_absent(self):
        if not os.path.exists(self.program):
            return f"there is no {os.path.relpath(self.program, ROOT)}"
        if self.launcher is None or (self.launcher and not os.path.exists(self.launcher)):
            return "its launcher is not installed" if self.name != "tutti" else f"there is no {self.launcher}"
        return None

    def commands(self, ranks, arguments, store):
        """(command, extra environment) of every process to start, rank 0's first."""
        program = [self.program, *arguments]
        if self.name == "tutti":
            return [([self.launcher, "run", "-n", str(ranks), *program], {})]
        if self.name == "openmpi":
            options = ["--allow-run-as-root"] if os.getuid() == 0 else []
            options += ["--oversubscribe"] if ranks > (os.cpu_count() or 1) else []
            return [([self.launcher, *options, "-n", str(ranks), *program], {})]
        if self.name == "mpich":
            return [([self.launcher, "-n", str(ranks), *program], {})]
        return [(program, {"PEER_RANK": str(r), "PEER_RANKS": str(ranks), "PEER_STORE": store}) for r in range(ranks)]


class Outcome:
    def __init__(self):
        self.rows = {}        # bytes -> (median us, us of the fastest batch)
        self.version = None
        self.unsupported = False
        self.failure = None   # a sentence


def run_peer(peer, ranks, arguments, limit_s):
    """Runs the program once. Rows that it printed count even when it fails later."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory(prefix="tutti-peers-") as folder:
        children, files = [], []
        store = os.path.join(folder, "store")
        os.mkdir(store)
        for index, (command, environment) in enumerate(peer.commands(ranks, arguments, store)):
            files.append((open(f"{folder}/out{index}", "w+", encoding="utf-8", errors="replace"),
                          open(f"{folder}/err{index}", "w+", encoding="utf-8", errors="replace")))
            children.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=files[-1][0],
                                             stderr=files[-1][1], env={**os.environ, **environment},
                                             start_new_session=True))
        outcome.failure = wait_for(children, limit_s)
        for out, err in files:
            out.seek(0)
            read_rows(out, outcome)
            err.seek(0)
            words = [line.strip() for line in err if line.strip()]
            if outcome.failure and words:
                outcome.failure += "; it said: " + " / ".join(words[:3])
            out.close()
            err.close()
    if not outcome.failure and not outcome.rows and not outcome.unsupported:
        outcome.failure = "it printed no results"
    return outcome


def wait_for(children, limit_s):
    """None when all ended well in time, else a sentence. Nothing is left running."""
    deadline = time.monotonic() + limit_s
    try:
        while True:
            ended = [child.poll() for child in children]
            bad = [status for status in ended if status not in (None, 0)]
            if bad:
                return f"it was ended by signal {-bad[0]}" if bad[0] < 0 else f"it ended with status {bad[0]}"
            if None not in ended:
                return None
            if time.monotonic() > deadline:
                return f"it ran for more than {limit_s:g} s"
            time.sleep(0.01)
    finally:
        for child in children:
            if child.poll() is None:
                stop(child)


def stop(child):
    """Ends a child and what it started: politely, so that launchers clean up, then not."""
    for number, patience_s in ((signal.SIGTERM, 3), (signal.SIGKILL, 3)):
        try:
            os.killpg(child.pid, number)
            child.wait(patience_s)
            return
        except ProcessLookupError:
            child.wait()
            return
        except subprocess.TimeoutExpired:
            pass


def read_rows(lines, outcome):
    for line in lines:
        words = line.split()
        if line.startswith("# library: "):
            outcome.version = " ".join(line[len("# library: "):].split())
        elif line.startswith("#") and "no such operation" in line:
            outcome.unsupported = True
        elif len(words) >= 6 and words[0] in OPS:
            outcome.rows[int(words[1])] = (float(words[3]), float(words[4]))


# ---------------------------------------------------------------------------------------------------------------
# The whole comparison.

class Comparison:
    def __init__(self, options, peers):
        self.options = options
        self.peers = peers
        self.samples = {}   # (ranks, op, bytes) -> library -> [(median us, fastest us) of each round]
        self.versions = {}
        self.failures = []  # {"ranks", "op", "library", "what"}

    def arguments(self, op):
        low, high, factor = self.options.sizes
        return ["--ops", op, "--min", low, "--max", high, "--factor", factor, "--batches", str(self.options.batches),
                "--batch-ms", f"{self.options.batch_ms:g}"]

    def run(self):
        for ranks in self.options.ranks:
            for op in self.options.ops:
                active = list(self.peers)
                for turn in range(self.options.rounds):
                    shift = turn % max(1, len(active))
                    for peer in active[shift:] + active[:shift]:
                        progress(f"{ranks} ranks  {op}  round {turn + 1}/{self.options.rounds}  {TITLES[peer.name]}")
                        outcome = run_peer(peer, ranks, self.arguments(op), self.options.time_limit)
                        self.take(ranks, op, peer, outcome)
                        if outcome.failure or outcome.unsupported:
                            active.remove(peer)
                progress("")
                print_table(self.times(), ranks, op, [p.name for p in self.peers])
        return self

    def take(self, ranks, op, peer, outcome):
        self.versions.setdefault(peer.name, outcome.version)
        for size, us in outcome.rows.items():
            self.samples.setdefault((ranks, op, size), {}).setdefault(peer.name, []).append(us)
        if outcome.failure:
            self.failures.append({"ranks": ranks, "op": op, "library": peer.name, "what": outcome.failure})
            progress("")
            print(f"!! {TITLES[peer.name]}, {op}, {ranks} ranks: {outcome.failure}")

    def figure(self, rounds):
        if self.options.compare == "best":
            return min(fastest for _, fastest in rounds)
        return statistics.median(median for median, _ in rounds)

    def times(self):
        """(ranks, op, bytes) -> library -> us, in the order of the tables."""
        return {key: {name: self.figure(rounds) for name, rounds in row.items()}
                for key, row in sorted(self.samples.items(), key=lambda item: (item[0][0], OPS.index(item[0][1]),
                                                                               item[0][2]))}


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K" + text)
        sys.stderr.flush()


def us_text(us):
    return f"{us:.2f}" if us < 1000 else f"{us:.0f}"


def print_table(times, ranks, op, libraries):
    keys = [key for key in times if key[:2] == (ranks, op)]
    if not keys:
        return
    peers = [name for name in libraries if name != "tutti"]
    print(f"\n{op}, {ranks} ranks: us per operation, and (peer's time / Tutti's)")
    print(f"{'bytes':>10}" + "".join(f"{TITLES[n]:>12}" + ("" if n == "tutti" else " " * 9) for n in libraries))
    for key in keys:
        line = f"{key[2]:>10}"
        for name in libraries:
            us = times[key].get(name)
            reached = goals.ratio(times, key, name) if name in peers else None
            line += f"{us_text(us) if us is not None else '-':>12}"
            if name in peers:
                line += f" {f'({reached:.2f})' if reached is not None else '':>8}"
        missed = goals.row_violations(times, key)
        print(line + ("   <-- " + "; ".join(missed) if missed else ""))
    for least, title in ((0, "all sizes"), (goals.LARGE_BYTES, f">= {goals.LARGE_BYTES >> 10} KiB")):
        means = [(n, goals.geomean_ratio(times, ranks, op, n, least)) for n in peers]
        if any(mean for _, mean in means):
            print(f"   geometric mean, {title}: " +
                  ", ".join(f"{mean:.2f} x as fast as {TITLES[n]}" for n, mean in means if mean))


def print_summary(times, libraries):
    peers = [name for name in libraries if name != "tutti"]
    if "tutti" not in libraries or not peers:
        return
    print(f"\nSummary: geometric means of (peer's time / Tutti's), all sizes, and >= {goals.LARGE_BYTES >> 10} KiB")
    print(f"{'':>24}" + "".join(f"{TITLES[n]:>20}" for n in peers))
    for ranks, op in goals.pairs(times):
        line = f"{op:>16} {ranks} ranks"
        for name in peers:
            means = [goals.geomean_ratio(times, ranks, op, name, least) for least in (0, goals.LARGE_BYTES)]
            line += f"{'   '.join(f'{m:.2f}' if m else '-' for m in means):>20}"
        print(line)
    missed = [(key, text) for key in times for text in goals.row_violations(times, key)]
    print(f"\nGoals missed at single sizes: {len(missed)} (marked above with <--)")
    for ranks, op, text in goals.mean_violations(times):
        print(f"Goal missed: {op}, {ranks} ranks: {text}")


# ---------------------------------------------------------------------------------------------------------------
# Who measured what, where.

def first_match(path, key):
    try:
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.startswith(key):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return "unknown"


def machine():
    return {"cpu": first_match("/proc/cpuinfo", "model name"), "cores": len(os.sched_getaffinity(0)),
            "memory": first_match("/proc/meminfo", "MemTotal"), "kernel": platform.release(),
            "load_before": round(os.getloadavg()[0], 2)}


def revision():
    done = subprocess.run(["git", "describe", "--always", "--dirty", "--tags"], cwd=ROOT, capture_output=True,
                          text=True, check=False)
    return done.stdout.strip() or "unknown"


def print_head(head):
    m = head["machine"]
    print(f"# date:    {head['date']}")
    print(f"# machine: {m['cpu']}, {m['cores']} cores, {m['memory']}, Linux {m['kernel']}, load {m['load_before']}")
    print(f"# command: {head['command']}")
    print(f"# tutti:   {head['revision']}")
    if m["load_before"] > 0.3 * m["cores"]:
        print("# This machine is busy with something else: medians may mislead, --compare best less so.")


def write_json(path, head, comparison):
    times = comparison.times()
    results = [{"ranks": ranks, "op": op, "bytes": size, "library": name, "us": times[(ranks, op, size)][name],
                "us_rounds": [median for median, _ in rounds], "us_best": min(fastest for _, fastest in rounds)}
               for (ranks, op, size), row in comparison.samples.items() for name, rounds in row.items()]
    missed = [{"ranks": key[0], "op": key[1], "bytes": key[2], "what": text}
              for key in times for text in goals.row_violations(times, key)]
    missed += [{"ranks": ranks, "op": op, "bytes": None, "what": text}
               for ranks, op, text in goals.mean_violations(times)]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**head, "versions": comparison.versions, "results": results, "goals_missed": missed,
                   "failures": comparison.failures}, file, indent=1)
        file.write("\n")
    print(f"wrote {path}")


def write_plots(folder, head, times, libraries):
    os.makedirs(folder, exist_ok=True)
    where = f"{head['machine']['cpu']}, {head['machine']['cores']} cores, one host, float sum, {head['date'][:10]}"
    for op in dict.fromkeys(key[1] for key in times):
        chart = plot.Chart(op, where)
        for ranks in sorted({key[0] for key in times if key[1] == op}):
            chart.add_panel(f"{ranks} ranks", {
                TITLES[name]: [(key[2], times[key][name]) for key in times
                               if key[:2] == (ranks, op) and name in times[key]] for name in libraries})
        with open(os.path.join(folder, f"{op}.svg"), "w", encoding="utf-8") as file:
            file.write(chart.svg())
    print(f"wrote one plot per operation to {folder}")


def sizes(text):
    parts = text.split(":")
    if len(parts) == 2:
        parts.append("2")
    if len(parts) != 3 or not all(parts):
        raise argparse.ArgumentTypeError("write MIN:MAX or MIN:MAX:FACTOR, for example 8:64M:4")
    return parts


def names(allowed):
    def parse(text):
        wrong = [name for name in text.split(",") if name not in allowed]
        if wrong:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(wrong)}; known: {', '.join(allowed)}")
        return [name for name in allowed if name in text.split(",")]
    return parse


def parse_options():
    parser = argparse.ArgumentParser(prog="./dev bench peers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ops", type=names(OPS), default=list(OPS), metavar="A,B", help="operations (default: all)")
    parser.add_argument("--sizes", type=sizes, metavar="MIN:MAX:FACTOR", help="default 8:64M:4")
    parser.add_argument("--ranks", type=lambda t: [int(n) for n in t.split(",")], default=[2, 4], metavar="N,M",
                        help="rank counts (default 2,4)")
    parser.add_argument("--rounds", type=int, help="how often each library has its turn (default 3)")
    parser.add_argument("--batches", type=int, help="batches per size in one round (default 7)")
    parser.add_argument("--batch-ms", type=float, help="how long a batch lasts (default 8)")
    parser.add_argument("--compare", choices=("median", "best"), default="median",
                        help="best: each library's fastest batch, for a machine that is busy with other things")
    parser.add_argument("--libraries", type=names(LIBRARIES), default=list(LIBRARIES), metavar="A,B",
                        help=f"of {','.join(LIBRARIES)} (default: all)")
    parser.add_argument("--time-limit", type=float, default=180, metavar="S",
                        help="seconds for one program on one operation (default 180)")
    parser.add_argument("--quick", action="store_true",
                        help="one round, few sizes, short batches: a look, not a result")
    parser.add_argument("--json", metavar="FILE", help="write everything there")
    parser.add_argument("--svg-dir", metavar="FOLDER", help="write a plot per operation there")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), metavar="FOLDER",
                        help="build folder (default build/release)")
    options = parser.parse_args()
    quick = options.quick
    options.sizes = options.sizes or sizes("8:4M:8" if quick else "8:64M:4")
    options.rounds = options.rounds or (1 if quick else 3)
    options.batches = options.batches or (3 if quick else 7)
    options.batch_ms = options.batch_ms or (4 if quick else 8)
    return options


def main():
    options = parse_options()
    head = {"date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"), "machine": machine(),
            "command": shlex.join(sys.argv), "revision": revision()}
    print_head(head)
    peers = []
    for name in options.libraries:
        peer = Peer(name, options.build)
        absent = peer.why_absent()
        if absent:
            print(f"# {TITLES[name]} is left out: {absent}")
        else:
            peers.append(peer)
    if not peers:
        print("Nothing to run. ./dev bench peers builds the programs first.")
        return 1
    comparison = Comparison(options, peers)
    try:
        comparison.run()
    except KeyboardInterrupt:
        print("\nStopped; what was measured until now:")
    libraries = [peer.name for peer in peers]
    print_summary(comparison.times(), libraries)
    for name, version in comparison.versions.items():
        print(f"# {TITLES[name]}: {version}")
    if options.json:
        write_json(options.json, head, comparison)
    if options.svg_dir:
        write_plots(options.svg_dir, head, comparison.times(), libraries)
    return 1 if any(failure["library"] == "tutti" for failure in comparison.failures) else 0


if __name__ == "__main__":
    sys.exit(main())
