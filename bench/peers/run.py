#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Compares Tutti with Open MPI, MPICH and Gloo on this machine.

`./dev bench peers` builds the programs and calls this. For every rank count and operation all libraries' programs are
started; then, size by size, the libraries take turns batch by batch, while the others' ranks sleep. So all of them meet
the same machine, whose pace may change within seconds. This is repeated in several rounds with fresh processes.

A time is the median over all batches (peer.h says what a batch is) but for some at first, which let every library settle.
A ratio is the median, over the turns, of the peer's time / Tutti's in the same turn, a few milliseconds apart. Goals that are missed are marked; they do not change the exit
status, which is 1 only when Tutti's own program failed.

With --hosts the ranks are spread over several hosts. These are network name spaces of this machine, which are made for the
run and removed at its end. Two ranks on two hosts are also compared with TCP alone ("raw"): what an all_reduce cannot pass.

On one host, sizes from 1 MiB on are also compared with what the machine can do ("plain"): copies and folds by as many cores,
which read and write each other's memory and do not wait for each other within a batch. With --neighbour another program
works half of the time on one core.
"""

import argparse
import contextlib
import datetime
import json
import os
import platform
import select
import shlex
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import goals
import hosts
import neighbour
import plot

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
LIBRARIES = ("tutti", "openmpi", "mpich", "gloo", "plain", "raw")
TITLES = {"tutti": "Tutti", "openmpi": "Open MPI", "mpich": "MPICH", "gloo": "Gloo", "plain": "plain copy", "raw": "raw TCP"}
# As many as Tutti has on trial of a kind of call at most, and ordinary ones between: at 8 MiB and more it takes all of them.
SETTLE_OPERATIONS = 1260
OPS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "gather", "scatter", "all_to_all",
       "send_recv")


# ---------------------------------------------------------------------------------------------------------------
# Starting one program with all its ranks.

class Peer:
    """How a library's program is started."""

    def __init__(self, name, build, network=None, raw_flows=1, may_yield=True):
        """`network`: the hosts.Hosts over which ranks are spread, if any. The rest is for several hosts only."""
        self.name, self.network, self.raw_flows, self.may_yield = name, network, raw_flows, may_yield
        self.program = os.path.join(build, "bench", "peers", f"{name}_peer")
        self.launcher = {"tutti": os.path.join(build, "tools", "tutti"), "openmpi": shutil.which("mpirun.openmpi"),
                         "mpich": shutil.which("mpirun.mpich"), "gloo": "", "plain": "", "raw": ""}[name]

    def why_absent(self):
        if not os.path.exists(self.program):
            return f"there is no {os.path.relpath(self.program, ROOT)}"
        if self.launcher is None or (self.launcher and not os.path.exists(self.launcher)):
            return "its launcher is not installed" if self.name != "tutti" else f"there is no {self.launcher}"
        return None

    def takes_part(self, ranks, op):
        return self.name != goals.FLOOR or (ranks, op) == (2, "all_reduce")

    def least_bytes(self):
        """The sizes from which on it takes part."""
        return goals.PLAIN_BYTES if self.name == goals.PLAIN else 0

    def commands(self, ranks, arguments, store):
        """(command, extra environment) of every process to start, rank 0's first."""
        program = [self.program, *arguments]
        if self.network:
            return self.commands_on_hosts(ranks, program, store)
        if self.name == "tutti":
            return [([self.launcher, "run", "-n", str(ranks), *program], {})]
        if self.name == "openmpi":
            options = ["--allow-run-as-root"] if os.getuid() == 0 else []
            options += ["--oversubscribe"] if ranks > (os.cpu_count() or 1) else []
            return [([self.launcher, *options, "-n", str(ranks), *program], {})]
        if self.name == "mpich":
            return [([self.launcher, "-n", str(ranks), *program], {})]
        if self.name == goals.PLAIN:
            return [(program, {"PEER_RANKS": str(ranks)})]
        return [(program, {"PEER_RANK": str(r), "PEER_RANKS": str(ranks), "PEER_STORE": store}) for r in range(ranks)]

    def commands_on_hosts(self, ranks, program, store):
        network = self.network
        places, cards = network.places(ranks), ",".join(network.cards)
        if self.name == "tutti":
            return [(network.on(0, [self.launcher, "run", "--hosts", places, "--agent", "ip netns exec", *program]), {})]
        if self.name == "openmpi":
            settings = {"plm_rsh_agent": network.agent, "oob_tcp_if_include": network.cards[0], "pml": "ob1",
                        "btl": "self,vader,tcp", "btl_tcp_if_include": cards}
            if self.may_yield and ranks > (os.cpu_count() or 1):
                settings["mpi_yield_when_idle"] = "1"  # by itself it does not see that the hosts share their cores
            words = [word for name, value in settings.items() for word in ("--mca", name, value)]
            return [(network.on(0, [self.launcher, "--allow-run-as-root", "-n", str(ranks), "--host", places, "--bind-to",
                                    "none", *words, *program]), {})]
        if self.name == "mpich":
            # UCX would find that the name spaces have one memory, and leave the network aside.
            environment = {"UCX_TLS": "self,tcp", "UCX_NET_DEVICES": cards}
            return [(network.on(0, [self.launcher, "-n", str(ranks), "-hosts", places, "-iface", network.cards[0],
                                    "-launcher", "rsh", "-launcher-exec", network.agent, *program]), environment)]
        more = {"PEER_INTERFACE": cards, "PEER_FLOWS": str(self.raw_flows)} if self.name == "raw" else \
            {"PEER_INTERFACE": network.cards[0]}
        return [(network.on(network.host_of(r, ranks), program),
                 {"PEER_RANK": str(r), "PEER_RANKS": str(ranks), "PEER_STORE": store, **more}) for r in range(ranks)]


class PeerFailed(Exception):
    """A library's program ended, said something wrong or said nothing in time. The text is a sentence."""


class PeerStuck(PeerFailed):
    """A library's program has done all that was asked for, and does not end."""


class Session:
    """A library's program with all its ranks, from start to end. Its ranks sleep unless they are asked for something."""

    END_LIMIT_S = 15  # for the end of a program, where the limit is not shorter

    def __init__(self, peer, ranks, arguments, limit_s):
        self.limit_s, self.version = limit_s, None
        self.folder = tempfile.TemporaryDirectory(prefix="tutti-peers-")
        self.children, self.errors, self.ranks = [], [], {}
        folder = self.folder.name
        os.mkdir(folder + "/store")
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self.listener.bind(folder + "/turns")
            self.listener.listen(ranks)
            commands = peer.commands(ranks, [*arguments, "--turns", folder + "/turns"], folder + "/store")
            for index, (command, environment) in enumerate(commands):
                self.errors.append(open(f"{folder}/err{index}", "w+", encoding="utf-8", errors="replace"))
                self.children.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.errors[-1],
                                                      stderr=self.errors[-1], env={**os.environ, **environment},
                                                      start_new_session=True))
            deadline = time.monotonic() + limit_s
            while len(self.ranks) < ranks:
                self.wait_for(self.listener, deadline)
                rank, _ = self.listener.accept()
                self.wait_for(rank, deadline)
                _, number, version = rank.recv(4096).decode().split(" ", 2)
                self.ranks[int(number)] = rank
                self.version = " ".join(version.split()) if number == "0" else self.version
        except BaseException:
            self.close()
            raise

    def size(self, op, size):
        """Gets ready for batches. The bytes that are counted (whole elements of every rank); 0 when that is none, None when
        the library has no such operation."""
        words = self.ask(f"size {op} {size}")
        if words[0] == "ready":
            return int(words[2])
        if words[0] not in ("small", "unsupported"):
            self.fail(f"{size} bytes: its answer is '{' '.join(words)}'")
        return 0 if words[0] == "small" else None

    def batch(self):
        """Microseconds of one operation."""
        words = self.ask("batch")
        if words[0] != "us":
            self.fail(f"its answer is '{' '.join(words)}'")
        return float(words[1])

    def ask(self, command):
        """Rank 0's answer, as words."""
        for rank in self.ranks.values():
            try:
                rank.send(command.encode())
            except OSError:
                pass  # wait_for finds out why
        self.wait_for(self.ranks[0], time.monotonic() + self.limit_s)
        words = self.ranks[0].recv(4096).decode().split()
        if not words:
            self.end()
            self.fail("it ended too early")
        return words

    def wait_for(self, readable, deadline):
        """Returns when there is something to read; raises when the program has ended, or at the deadline."""
        while not select.select([readable], [], [], 0.05)[0]:
            if self.has_ended():
                self.fail("it ended too early")
            if time.monotonic() > deadline:
                self.fail(f"it was silent for more than {self.limit_s:g} s")

    def end(self):
        """Lets the program end by itself."""
        for rank in self.ranks.values():
            rank.close()
        limit_s = min(self.limit_s, self.END_LIMIT_S)
        deadline = time.monotonic() + limit_s
        while not self.has_ended():
            if time.monotonic() > deadline:
                self.fail(f"it did not end within {limit_s:g} s", PeerStuck)
            time.sleep(0.002)

    def has_ended(self):
        """Whether all processes have; raises when one of them ended badly."""
        ended = [child.poll() for child in self.children]
        bad = next((status for status in ended if status not in (None, 0)), None)
        if bad is not None:
            self.fail(f"it was ended by signal {-bad}" if bad < 0 else f"it ended with status {bad}")
        return None not in ended

    def fail(self, what, kind=PeerFailed):
        words = []
        for file in self.errors:
            file.seek(0)
            words += [line.strip() for line in file if line.strip()]
        raise kind(what + ("; it said: " + " / ".join(words[:3]) if words else ""))

    def close(self):
        """Ends what is left of the program. Nothing is left running."""
        for rank in self.ranks.values():
            rank.close()
        self.listener.close()
        for child in self.children:
            if child.poll() is None:
                stop(child)
        for file in self.errors:
            file.close()
        self.folder.cleanup()


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


# ---------------------------------------------------------------------------------------------------------------
# The whole comparison.

class Comparison:
    LEAST_TURNS = 3  # of a size in a round

    def __init__(self, options, peers, network=None):
        self.options = options
        self.peers = peers
        self.network = network  # a hosts.Hosts
        self.turns = {}     # (ranks, op, bytes) -> [{library: us} of each turn]
        self.versions = {}
        self.failures = []  # {"ranks", "op", "library", "what"}

    def run(self):
        for ranks in self.options.ranks:
            for op in self.options.ops:
                active = [peer for peer in self.peers if peer.takes_part(ranks, op)]
                for number in range(self.options.rounds):
                    self.round(ranks, op, active, f"round {number + 1}/{self.options.rounds}")
                progress("")
                print_table(self, ranks, op, [p.name for p in self.peers])
        return self

    def round(self, ranks, op, active, title):
        """One round; peers that fail, or have no such operation, are taken out of `active`."""
        low, high, factor = self.options.sizes
        arguments = ["--max", str(high), "--batch-ms", f"{self.options.batch_ms:g}",
                     "--settle-ms", f"{self.options.settle_ms:g}", "--settle-operations", str(SETTLE_OPERATIONS),
                     "--buffers", "library" if self.options.library_buffers else "ordinary"]
        sessions = {}

        def use(peer, action):
            """The action's result, or None and the peer is out."""
            try:
                return action()
            except PeerFailed as failed:
                progress("")
                print(f"!! {TITLES[peer.name]}, {op}, {ranks} ranks: {failed}")
                self.failures.append({"ranks": ranks, "op": op, "library": peer.name, "what": str(failed)})
                # MPICH over UCX's TCP at times hangs in MPI_Finalize. Its times are right, so it is started again.
                if not isinstance(failed, PeerStuck):
                    active[:] = [other for other in active if other is not peer]
                if peer in sessions:
                    sessions.pop(peer).close()  # what is left of it would disturb the others
                return None

        try:
            for peer in list(active):
                progress(f"{ranks} ranks  {op}  {title}  {TITLES[peer.name]} starts")
                session = use(peer, lambda p=peer: Session(p, ranks, arguments, self.options.time_limit))
                if session:
                    sessions[peer] = session
                    self.versions[peer.name] = session.version
            size = low
            while size <= high and active:
                progress(f"{ranks} ranks  {op}  {title}  {size} bytes")
                counts = {peer: use(peer, lambda p=peer: self.prepare(sessions[p], ranks, op, size))
                          for peer in list(active) if size >= peer.least_bytes()}
                active[:] = [peer for peer in active if counts.get(peer, 0) is not None]
                if counted := max((count for count in counts.values() if count), default=0):
                    self.take_turns((ranks, op, counted), lambda: [peer for peer in active if counts.get(peer)],
                                    lambda p: use(p, sessions[p].batch))
                size *= factor
            for peer, session in list(sessions.items()):
                use(peer, session.end)
        finally:
            for session in sessions.values():
                session.close()

    def prepare(self, session, ranks, op, size):
        """As Session.size; a program that does not use the network between hosts has failed."""
        before = self.network.carried_bytes() if self.network else 0
        count = session.size(op, size)
        if self.network and count and self.network.carried_bytes() - before < count // ranks:
            session.fail(f"{count} bytes: less than that went over the network between the hosts")
        return count

    def take_turns(self, key, peers, batch):
        """`peers()`: those that take part now; one that fails does no more."""
        turns = self.turns.setdefault(key, [])
        start = time.monotonic()
        warm = self.options.warm_turns
        for number in range(warm + self.options.turns):
            if number == warm:
                start = time.monotonic()
            if number - warm >= self.LEAST_TURNS and time.monotonic() - start > self.options.size_limit:
                break
            if number < warm and time.monotonic() - start > self.options.size_limit:
                continue
            active = peers()
            if not active:
                break
            shift = number % len(active)
            turn = {peer.name: batch(peer) for peer in active[shift:] + active[:shift]}
            if number >= warm:
                turns.append({name: us for name, us in turn.items() if us is not None})

    def times(self):
        """(ranks, op, bytes) -> library -> us, in the order of the tables."""
        best = self.options.compare == "best"
        return {key: {name: (min if best else statistics.median)(turn[name] for turn in turns if name in turn)
                      for name in dict.fromkeys(name for turn in turns for name in turn)}
                for key, turns in sorted(self.turns.items(), key=lambda item: (item[0][0], OPS.index(item[0][1]),
                                                                               item[0][2]))}

    def ratios(self):
        """(ranks, op, bytes) -> peer -> its time / Tutti's, in the order of the tables."""
        ratios = {}
        for key, row in self.times().items():
            ratios[key] = {}
            for name in row:
                both = [turn for turn in self.turns[key] if name in turn and "tutti" in turn]
                if name == "tutti" or not both:
                    continue
                ratios[key][name] = (row[name] / row["tutti"] if self.options.compare == "best" else
                                     statistics.median(turn[name] / turn["tutti"] for turn in both))
        return ratios


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K" + text)
        sys.stderr.flush()


def us_text(us):
    return f"{us:.2f}" if us < 1000 else f"{us:.0f}"


def print_table(comparison, ranks, op, libraries):
    times, ratios = comparison.times(), comparison.ratios()
    keys = [key for key in times if key[:2] == (ranks, op)]
    if not keys:
        return
    peers = [name for name in libraries if name != "tutti"]
    hosts_text = f" on {comparison.options.hosts} hosts" if comparison.options.hosts > 1 else ""
    print(f"\n{op}, {ranks} ranks{hosts_text}: us per operation, and (peer's time / Tutti's)")
    print(f"{'bytes':>10}" + "".join(f"{TITLES[n]:>12}" + ("" if n == "tutti" else " " * 9) for n in libraries))
    for key in keys:
        line = f"{key[2]:>10}"
        for name in libraries:
            us = times[key].get(name)
            line += f"{us_text(us) if us is not None else '-':>12}"
            if name in peers:
                reached = ratios[key].get(name)
                line += f" {f'({reached:.2f})' if reached is not None else '':>8}"
        missed = goals.row_violations(ratios, key, comparison.options.hosts, comparison.options.neighbour)
        print(line + ("   <-- " + "; ".join(missed) if missed else ""))
    for title, *sizes_in in goals.size_ranges(comparison.options.hosts):
        means = [(n, goals.geomean_ratio(ratios, ranks, op, n, *sizes_in)) for n in peers]
        if any(mean for _, mean in means):
            print(f"   geometric mean, {title}: " +
                  ", ".join(f"{mean:.2f} x as fast as {TITLES[n]}" for n, mean in means if mean))


def print_summary(ratios, libraries, host_count=1, with_neighbour=False):
    peers = [name for name in libraries if name != "tutti"]
    if "tutti" not in libraries or not peers:
        return
    ranges = goals.size_ranges(host_count)
    print(f"\nSummary: geometric means of (peer's time / Tutti's), {', and '.join(title for title, *_ in ranges)}")
    print(f"{'':>24}" + "".join(f"{TITLES[n]:>20}" for n in peers))
    for ranks, op in goals.pairs(ratios):
        line = f"{op:>16} {ranks} ranks"
        for name in peers:
            means = [goals.geomean_ratio(ratios, ranks, op, name, *sizes_in) for _, *sizes_in in ranges]
            line += f"{'   '.join(f'{m:.2f}' if m else '-' for m in means):>20}"
        print(line)
    missed = [(key, text) for key in ratios for text in goals.row_violations(ratios, key, host_count, with_neighbour)]
    print(f"\nGoals missed at single sizes: {len(missed)} (marked above with <--)")
    for ranks, op, text in goals.mean_violations(ratios, host_count):
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


def huge_pages(path="/sys/kernel/mm/transparent_hugepage/enabled"):
    """'madvise': who gets transparent huge pages; 'none' where the kernel has none."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().partition("[")[2].partition("]")[0] or "none"
    except OSError:
        return "none"


def machine():
    return {"cpu": first_match("/proc/cpuinfo", "model name"), "cores": len(os.sched_getaffinity(0)),
            "memory": first_match("/proc/meminfo", "MemTotal"), "kernel": platform.release(), "huge_pages": huge_pages(),
            "load_before": round(os.getloadavg()[0], 2)}


def revision():
    done = subprocess.run(["git", "describe", "--always", "--dirty", "--tags"], cwd=ROOT, capture_output=True,
                          text=True, check=False)
    return done.stdout.strip() or "unknown"


def print_head(head):
    m = head["machine"]
    print(f"# date:    {head['date']}")
    print(f"# machine: {m['cpu']}, {m['cores']} cores, {m['memory']}, Linux {m['kernel']}, huge pages {m['huge_pages']}, "
          f"load {m['load_before']}")
    if head["hosts"]["count"] > 1:
        print(f"# hosts:   {head['hosts']['text']}")
    print(f"# command: {head['command']}")
    print(f"# tutti:   {head['revision']}")
    if m["load_before"] > 0.3 * m["cores"]:
        print("# This machine is busy with something else: medians may mislead, --compare best less so.")


def write_json(path, head, comparison):
    times, ratios = comparison.times(), comparison.ratios()
    results = [{"ranks": ranks, "op": op, "bytes": size, "library": name, "us": us,
                "ratio": ratios[(ranks, op, size)].get(name),
                "us_turns": [round(turn[name], 4) if name in turn else None
                             for turn in comparison.turns[(ranks, op, size)]]}
               for (ranks, op, size), row in times.items() for name, us in row.items()]
    missed = [{"ranks": key[0], "op": key[1], "bytes": key[2], "what": text}
              for key in ratios
              for text in goals.row_violations(ratios, key, head["hosts"]["count"], comparison.options.neighbour)]
    missed += [{"ranks": ranks, "op": op, "bytes": None, "what": text}
               for ranks, op, text in goals.mean_violations(ratios, head["hosts"]["count"])]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({**head, "versions": comparison.versions, "results": results, "goals_missed": missed,
                   "failures": comparison.failures}, file)
        file.write("\n")
    print(f"wrote {path}")


def write_plots(folder, head, times, libraries):
    os.makedirs(folder, exist_ok=True)
    on = "one host" if head["hosts"]["count"] == 1 else head["hosts"]["text"]
    where = (f"{head['machine']['cpu']}, {head['machine']['cores']} cores, {on}, float sum, {head['date'][:10]}, "
             f"Tutti {head['revision']}")
    for op in dict.fromkeys(key[1] for key in times):
        chart = plot.Chart(op, where)
        for ranks in sorted({key[0] for key in times if key[1] == op}):
            chart.add_panel(f"{ranks} ranks", {
                TITLES[name]: [(key[2], times[key][name]) for key in times
                               if key[:2] == (ranks, op) and name in times[key]] for name in libraries})
        with open(os.path.join(folder, f"{op}.svg"), "w", encoding="utf-8") as file:
            file.write(chart.svg())
    print(f"wrote one plot per operation to {folder}")


def byte_count(text):
    units = {"K": 10, "M": 20, "G": 30}
    unit = text[-1:].upper()
    return int(text[:-1]) << units[unit] if unit in units else int(text)


def sizes(text):
    try:
        low, high, factor = [byte_count(part) for part in text.split(":")] + ([2] if text.count(":") == 1 else [])
    except ValueError:
        low = high = factor = 0
    if low < 4 or high < low or factor < 2:
        raise argparse.ArgumentTypeError("write MIN:MAX or MIN:MAX:FACTOR, for example 8:64M:4; 4 bytes at least, factor 2")
    return low, high, factor


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
    parser.add_argument("--sizes", type=sizes, metavar="MIN:MAX:FACTOR",
                        help="default 8:64M:4; with --hosts 8:16M:2")
    parser.add_argument("--ranks", type=lambda t: [int(n) for n in t.split(",")], metavar="N,M",
                        help="rank counts (default 2,4; with --hosts one and two on each host)")
    parser.add_argument("--rounds", type=int, help="how often all programs are started (default 3)")
    parser.add_argument("--turns", type=int, help="batches of each library, per size and round (default 9)")
    parser.add_argument("--warm-turns", type=int,
                        help="batches before those, which do not count (default 3; with --hosts 9)")
    parser.add_argument("--settle-ms", type=float, metavar="MS",
                        help=f"how long each library runs a size before its turns, and {SETTLE_OPERATIONS} operations at least, in 10 s at most: "
                             "Tutti tries ways by the first calls of a size (default 150; with --hosts or --quick 0: not at all)")
    parser.add_argument("--batch-ms", type=float,
                        help="how long a batch lasts (default 5; with --neighbour 20, two of its periods)")
    parser.add_argument("--size-limit", type=float, metavar="S",
                        help=f"take fewer turns, {Comparison.LEAST_TURNS} at least, when a size of a round takes longer "
                             "(default 3)")
    parser.add_argument("--compare", choices=("median", "best"), default="median",
                        help="best: each library's fastest batch, for a machine that is busy with other things")
    parser.add_argument("--libraries", type=names(LIBRARIES), metavar="A,B",
                        help=f"of {','.join(LIBRARIES)} (default: all); raw, which is TCP alone, takes part in "
                             "all_reduce of 2 ranks on 2 hosts; plain, from 1 MiB on one host")
    parser.add_argument("--neighbour", action="store_true",
                        help="another program works half of the time on one core, as a service under load does; one host only")
    parser.add_argument("--library-buffers", action="store_true",
                        help="buffers are what each library has for messages: Communicator::AllocateShared, MPI_Alloc_mem; "
                             "ordinary memory for Gloo; one host only")
    parser.add_argument("--hosts", type=int, default=1, metavar="N",
                        help="spread the ranks evenly over so many hosts, which are network name spaces of this machine; "
                             "needs root and iproute2 (default 1: no name spaces)")
    parser.add_argument("--nics", type=int, default=1, metavar="N",
                        help="network cards of each host, each on a network of its own (default 1)")
    parser.add_argument("--rate", type=lambda t: t.split(","), default=[], metavar="A,B",
                        help="limit each card to a rate, as tc writes it: 1gbit,100mbit (default: no limit)")
    parser.add_argument("--no-yield", action="store_true",
                        help="with --hosts and more ranks than cores: Open MPI's ranks poll without end, as they would on "
                             "real hosts, each with cores of its own; default: they give their core away while they wait")
    parser.add_argument("--raw-flows", type=int, default=1, metavar="N",
                        help="flows of raw; a message is cut among them in parts of 128 KiB and more (default 1)")
    parser.add_argument("--time-limit", type=float, default=180, metavar="S",
                        help="seconds for a program's start, and for a batch or check of one size (default 180)")
    parser.add_argument("--quick", action="store_true",
                        help="one round, few sizes, short batches: a look, not a result")
    parser.add_argument("--json", metavar="FILE", help="write everything there")
    parser.add_argument("--svg-dir", metavar="FOLDER", help="write a plot per operation there")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), metavar="FOLDER",
                        help="build folder (default build/release)")
    options = parser.parse_args()
    quick = options.quick
    across = options.hosts > 1
    options.ranks = options.ranks or ([options.hosts, 2 * options.hosts] if across else [2, 4])
    if wrong := wrong_about_hosts(options):
        parser.error(wrong)
    floor = options.hosts == 2 and 2 in options.ranks
    floors = {goals.FLOOR: floor, goals.PLAIN: not across}
    options.libraries = options.libraries or [name for name in LIBRARIES if floors.get(name, True)]
    options.sizes = options.sizes or sizes("8:4M:8" if quick else "8:16M:2" if across else "8:64M:4")
    options.rounds = options.rounds or (1 if quick else 3)
    options.turns = options.turns or (3 if quick else 9)
    if options.warm_turns is None:
        options.warm_turns = 1 if quick else 9 if across else 3
    if options.settle_ms is None:
        options.settle_ms = 0 if quick or across else 150
    # A batch that is shorter than the neighbour's period has all of its work or none, and the median says which came more often.
    options.batch_ms = options.batch_ms or (4000 * neighbour.WORK_S if options.neighbour else 3 if quick else 5)
    options.size_limit = options.size_limit or 3
    return options


def wrong_about_hosts(options):
    """What is wrong with the options about hosts, as a sentence; or None."""
    if not 1 <= options.hosts <= 64:
        return "--hosts: from 1 to 64"
    if options.hosts == 1:
        if options.nics != 1 or options.rate:
            return "--nics and --rate are about the networks of several hosts: add --hosts 2"
        if options.libraries and "raw" in options.libraries:
            return "raw is a floor between two hosts: add --hosts 2"
        return None
    if options.library_buffers:
        return "--library-buffers is for ranks on one host: leave --hosts out"
    if options.neighbour:
        return "--neighbour is for ranks on one host: leave --hosts out"
    if options.libraries and goals.PLAIN in options.libraries:
        return "plain is what one host's memory can do: leave --hosts out"
    if uneven := [ranks for ranks in options.ranks if ranks < 1 or ranks % options.hosts]:
        return f"{uneven[0]} ranks cannot be spread evenly over {options.hosts} hosts: give --ranks a multiple of them"
    if not 1 <= options.nics <= 8:
        return "--nics: from 1 to 8"
    if options.rate and len(options.rate) != options.nics:
        return f"--rate: one rate for each card, so {options.nics}, separated by commas"
    if not 1 <= options.raw_flows <= 16:
        return "--raw-flows: from 1 to 16"
    return hosts.why_not(options.rate)


def main():
    options = parse_options()
    # The end of a session, or of a shell, is as good a reason to clean up as Ctrl-C.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    if options.hosts == 1:
        with neighbour.Neighbour() if options.neighbour else contextlib.nullcontext():
            return compare(options, None)
    try:
        with hosts.Hosts(options.hosts, options.nics, options.rate) as network:
            return compare(options, network)
    except hosts.HostsFailed as failed:
        print(failed)
    except KeyboardInterrupt:
        print("\nStopped.")
    return 1


def compare(options, network):
    where = {"count": 1} if network is None else {"count": network.count, "cards": len(network.cards),
                                                  "rates": network.rates, "text": network.text()}
    head = {"kind": "peers", "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"), "machine": machine(),
            "hosts": where, "neighbour": bool(options.neighbour), "settle_ms": options.settle_ms, "settle_operations": SETTLE_OPERATIONS,
            "library_buffers": bool(options.library_buffers), "command": shlex.join(sys.argv),
            "revision": revision()}
    print_head(head)
    peers = []
    for name in options.libraries:
        peer = Peer(name, options.build, network, options.raw_flows, not options.no_yield)
        absent = peer.why_absent()
        if absent:
            print(f"# {TITLES[name]} is left out: {absent}")
        else:
            peers.append(peer)
    if not peers:
        print("Nothing to run. ./dev bench peers builds the programs first.")
        return 1
    comparison = Comparison(options, peers, network)
    try:
        comparison.run()
    except KeyboardInterrupt:
        print("\nStopped; what was measured until now:")
    libraries = [peer.name for peer in peers]
    print_summary(comparison.ratios(), libraries, options.hosts, options.neighbour)
    for name, version in comparison.versions.items():
        print(f"# {TITLES[name]}: {version}")
    if options.json:
        write_json(options.json, head, comparison)
    if options.svg_dir:
        write_plots(options.svg_dir, head, comparison.times(), libraries)
    return 1 if any(failure["library"] == "tutti" for failure in comparison.failures) else 0


if __name__ == "__main__":
    sys.exit(main())
