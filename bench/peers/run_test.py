#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Tests the comparison's scripts with programs that only pretend to measure."""

import contextlib
import io
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
import xml.dom.minidom
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import goals
import hosts
import neighbour
import plot
import run

# A rank: the settings below, then this. `replies` says what rank 0 answers, by the command's first word.
RANK = """
import os, signal, socket, sys, time
number, path = int(sys.argv[1]), sys.argv[sys.argv.index("--turns") + 1]
turns = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
turns.connect(path)
turns.send(f"hello {number} X  {number}".encode())
while words := turns.recv(100).decode().split():
    action(number, words)
    if number == 0:
        turns.send(replies[words[0]].encode())
"""


def rank_program(us=1.0, action="pass", **replies):
    replies = {"size": "ready 5 8", "batch": f"us {us}", **replies}
    return f"def action(number, words): {action}\nreplies = {replies}\n" + textwrap.dedent(RANK)


class FakePeer:
    def __init__(self, script, name="tutti"):
        self.name, self.script = name, script

    def why_absent(self):
        return None

    def takes_part(self, ranks, op):
        return self.name != "raw" or (ranks, op) == (2, "all_reduce")

    def least_bytes(self):
        return goals.PLAIN_BYTES if self.name == "plain" else 0

    def commands(self, ranks, arguments, store):
        return [([sys.executable, "-c", self.script, str(number), *arguments], {}) for number in range(ranks)]


class SessionTest(unittest.TestCase):
    def session(self, script, ranks=2, limit_s=20):
        session = run.Session(FakePeer(script), ranks, [], limit_s)
        self.addCleanup(session.close)
        return session

    def failure(self, script, limit_s=20, ask="batch"):
        with self.assertRaises(run.PeerFailed) as raised:
            self.session(script, limit_s=limit_s).ask(ask)
        return str(raised.exception)

    def test_version_is_of_rank_0(self):
        self.assertEqual(self.session(rank_program()).version, "X 0")

    def test_answers_of_rank_0(self):
        session = self.session(rank_program(us=1.5), ranks=3)
        self.assertEqual(session.ask("size all_reduce 8"), ["ready", "5", "8"])
        self.assertEqual(session.ask("batch"), ["us", "1.5"])

    def test_failure_says_what_the_program_said(self):
        said = self.failure("import sys; sys.exit('no luck')")
        self.assertIn("status 1", said)
        self.assertIn("no luck", said)

    def test_rank_that_fails_in_a_batch(self):
        self.assertIn("status 4", self.failure(rank_program(action="number == 1 and os._exit(4); time.sleep(9)")))

    def test_crash(self):
        self.assertIn("signal 11", self.failure(rank_program(action="os.kill(os.getpid(), signal.SIGSEGV)")))

    def test_end_without_a_word(self):
        self.assertIn("ended too early", self.failure("pass"))
        self.assertIn("ended too early", self.failure(rank_program(action="sys.exit(0)")))

    def test_silence(self):
        self.assertIn("silent for more than 0.5 s", self.failure("import time; time.sleep(60)", limit_s=0.5))
        self.assertIn("silent for more than 2 s", self.failure(rank_program(action="time.sleep(60)"), limit_s=2))

    def test_ends_by_itself_when_nothing_more_is_asked(self):
        session = self.session(rank_program())
        session.end()
        self.assertEqual([child.poll() for child in session.children], [0, 0])

    def test_bad_end(self):
        with self.assertRaisesRegex(run.PeerFailed, "status 5"):
            self.session(rank_program() + "sys.exit(5)").end()
        with self.assertRaisesRegex(run.PeerFailed, "did not end within 1 s"):
            self.session(rank_program() + "time.sleep(60)", limit_s=1).end()

    def test_close_leaves_nothing(self):
        session = run.Session(FakePeer(rank_program() + "time.sleep(60)"), 2, [], 20)
        session.close()
        self.assertNotIn(None, [child.poll() for child in session.children])
        self.assertFalse(os.path.exists(session.folder.name))


class GoalsTest(unittest.TestCase):
    def test_ten_percent_slower_than_the_best_of_two_ranks(self):
        for best, missed in ((1 / 1.09, 0), (1 / 1.12, 1)):
            ratios = {(2, "gather", 8): {"openmpi": 7.0, "mpich": best}}
            self.assertEqual(len(goals.row_violations(ratios, (2, "gather", 8))), missed)

    def test_fifteen_percent_beside_a_neighbour(self):
        for best, missed in ((1 / 1.14, 0), (1 / 1.16, 1)):
            ratios = {(2, "gather", 8): {"openmpi": best, "plain": 0.1}}
            self.assertEqual(len(goals.row_violations(ratios, (2, "gather", 8), neighbour=True)), missed)

    def test_the_limit_of_the_machine_is_no_peer(self):
        key = (2, "gather", 1 << 20)
        self.assertEqual(goals.row_violations({key: {"openmpi": 2.0, "plain": 1 / 1.24}}, key), [])
        missed = goals.row_violations({key: {"openmpi": 2.0, "plain": 1 / 1.3}}, key)
        self.assertEqual(missed, ["1.30 x the time of plain, goal 1.25"])

    def test_four_ranks_all_reduce(self):
        key = (4, "all_reduce", 8)
        for row, missed in (({"openmpi": 2.1, "gloo": 5.1}, 0), ({"openmpi": 1.9, "gloo": 4.9}, 2), ({}, 0)):
            self.assertEqual(len(goals.row_violations({key: row}, key)), missed)
        key = (4, "gather", 8)
        self.assertEqual(goals.row_violations({key: {"openmpi": 0.1}}, key), [])

    def test_geometric_means_of_large_sizes(self):
        ratios = {(2, op, size): {"openmpi": ratio}
                  for op in ("all_reduce", "reduce") for size, ratio in ((8, 100.0), (8192, 1.0), (65536, 3.0))}
        self.assertAlmostEqual(goals.geomean_ratio(ratios, 2, "reduce", "openmpi", 8192), 3 ** 0.5)
        self.assertEqual([(ranks, op) for ranks, op, _ in goals.mean_violations(ratios)], [(2, "all_reduce")])

    def test_without_tutti_nothing_is_missed(self):
        ratios = {(2, "reduce", 8192): {}}
        self.assertEqual(goals.row_violations(ratios, (2, "reduce", 8192)) + goals.mean_violations(ratios), [])


class GoalsAcrossHostsTest(unittest.TestCase):
    def missed(self, hosts_count, ranks, row, size=4096, op="all_reduce"):
        key = (ranks, op, size)
        return goals.row_violations({key: row}, key, hosts_count)

    def test_two_ranks_on_two_hosts(self):
        for row, size, missed in (({"mpich": 1 / 1.09, "gloo": 9.0}, 4096, 0), ({"mpich": 1 / 1.12, "gloo": 9.0}, 4096, 1),
                                  ({"raw": 1 / 1.29}, 8, 0), ({"raw": 1 / 1.31}, 8, 1), ({"raw": 1 / 1.31}, 16, 0),
                                  ({"raw": 0.91}, 16 << 20, 0), ({"raw": 0.89}, 16 << 20, 1), ({}, 8, 0)):
            self.assertEqual(len(self.missed(2, 2, row, size)), missed, (row, size))

    def test_two_ranks_on_each_host(self):
        for hosts_count, ranks in ((2, 4), (3, 6)):
            for row, size, missed in (({"openmpi": 5.0, "gloo": 3.0}, 1 << 20, 0), ({"openmpi": 4.9, "gloo": 2.9}, 8, 2),
                                      ({"openmpi": 2.0, "gloo": 2.0}, 2 << 20, 0), ({"openmpi": 1.9}, 2 << 20, 1)):
                self.assertEqual(len(self.missed(hosts_count, ranks, row, size)), missed, (row, size))

    def test_no_goals_for_other_shapes_and_operations(self):
        slow = {"openmpi": 0.1, "gloo": 0.1, "raw": 0.1}
        for hosts_count, ranks, op in ((2, 8, "all_reduce"), (3, 3, "all_reduce"), (4, 8, "all_reduce"), (2, 2, "reduce")):
            self.assertEqual(self.missed(hosts_count, ranks, slow, 8, op), [])
            self.assertEqual(goals.mean_violations({(ranks, op, 8): slow}, 3), [])

    def test_means_against_the_best_peer_of_each_size(self):
        ratios = {(2, "all_reduce", 8): {"openmpi": 1.4, "mpich": 5.0, "raw": 0.5},
                  (2, "all_reduce", 32768): {"openmpi": 7.0, "mpich": 1.3},
                  (2, "all_reduce", 1 << 20): {"openmpi": 1.2, "gloo": 9.0},
                  (2, "reduce", 8): {"openmpi": 0.1}}
        missed = goals.mean_violations(ratios, 2)
        self.assertEqual(len(missed), 1)
        self.assertIn("from 64 KiB on 1.20 x", missed[0][2])
        ratios[(2, "all_reduce", 1 << 20)] = {"openmpi": 1.3}
        self.assertEqual(goals.mean_violations(ratios, 2), [])

    def test_only_the_floor_is_there(self):
        self.assertIsNone(goals.best_peer({"raw": 1.0}))
        self.assertEqual(goals.mean_violations({(2, "all_reduce", 8): {"raw": 0.1}}, 2), [])


class HostsTest(unittest.TestCase):
    """`ip` and `tc` are pretended; a name space is a file."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.commands, self.trouble = folder.name, [], {}
        for name, fake in (("FOLDER", self.folder), ("command", self.command)):
            patch = mock.patch.object(hosts, name, fake)
            patch.start()
            self.addCleanup(patch.stop)

    def command(self, *words):
        line = " ".join(words)
        self.commands.append(line.replace(f"{hosts.PREFIX}{os.getpid()}-", ""))
        path = os.path.join(self.folder, words[-1])
        if words[:3] == ("ip", "netns", "add"):
            open(path, "x", encoding="utf-8").close()
        if words[:3] == ("ip", "netns", "del"):
            os.remove(path)
        for piece, error in self.trouble.items():
            if piece in line:
                raise error
        return "eth0@if2 UP 02:00" if "-br" in words else ""

    def test_two_hosts_have_a_pair_for_each_card(self):
        with hosts.Hosts(2, 2) as network:
            self.assertEqual(sorted(os.listdir(self.folder)), network.names)
            self.assertEqual(network.names[1], f"tutti-peers-{os.getpid()}-1")
            agent = network.agent
            self.assertTrue(os.access(agent, os.X_OK))
        self.assertIn("ip -n 0 link add eth1 type veth peer name eth1 netns 1", self.commands)
        self.assertIn("ip -n 1 addr add 10.78.1.2/24 dev eth1", self.commands)
        self.assertFalse([line for line in self.commands if "bridge" in line or "tc" in line.split()])
        self.assertEqual(os.listdir(self.folder), [])
        self.assertFalse(os.path.exists(agent))

    def test_more_hosts_have_a_bridge(self):
        with hosts.Hosts(3) as network:
            self.assertEqual(len(os.listdir(self.folder)), 4)
            self.assertEqual(network.places(6), ",".join(f"{name}:2" for name in network.names))
            self.assertEqual([network.host_of(rank, 6) for rank in range(6)], [0, 0, 1, 1, 2, 2])
            self.assertIn("bridge", network.text())
        self.assertIn("ip -n switch link set eth0-2 master eth0 up", self.commands)
        self.assertEqual(os.listdir(self.folder), [])

    def test_rates_are_at_both_ends(self):
        for count, ends in ((2, ("0 qdisc replace dev eth1", "1 qdisc replace dev eth1")),
                            (3, ("2 qdisc replace dev eth1", "switch qdisc replace dev eth1-2"))):
            with hosts.Hosts(count, 2, ["1gbit", "100mbit"]):
                for end in ends:
                    self.assertIn(f"tc -n {end} root tbf rate 100mbit burst 128k latency 50ms", self.commands)

    def test_nothing_is_left_after_an_error_or_ctrl_c(self):
        for error in (hosts.HostsFailed("no luck"), KeyboardInterrupt()):
            for piece in ("netns add", "lo up", "type veth", "-br link"):
                self.trouble = {piece: error}
                with self.subTest(piece), self.assertRaises(type(error)):
                    with hosts.Hosts(3):
                        self.fail("no hosts were expected")
                self.assertEqual(os.listdir(self.folder), [])
        self.trouble = {}
        with self.assertRaises(KeyboardInterrupt), hosts.Hosts(2):
            raise KeyboardInterrupt
        self.assertEqual(os.listdir(self.folder), [])

    def test_what_dead_runs_left_is_removed(self):
        dead = subprocess.Popen([sys.executable, "-c", "pass"])
        dead.wait()
        kept = [f"{hosts.PREFIX}{os.getppid()}-0", "tutti-peers-", "tutti-peers-x-0", f"tutti-{dead.pid}-east"]
        for name in [*kept, f"{hosts.PREFIX}{dead.pid}-0"]:
            open(os.path.join(self.folder, name), "x", encoding="utf-8").close()
        hosts.remove_forgotten()
        self.assertEqual(sorted(os.listdir(self.folder)), sorted(kept))

    def test_commands_of_each_library(self):
        with hosts.Hosts(2, 2) as network:
            for name, hosts_of_processes, pieces in (
                    ("tutti", [0], ["run --hosts HOST0:2,HOST1:2 --agent 'ip netns exec'"]),
                    ("openmpi", [0], ["--host HOST0:2,HOST1:2", "--bind-to none", "--mca btl_tcp_if_include eth0,eth1"]),
                    ("mpich", [0], ["-hosts HOST0:2,HOST1:2", "-iface eth0"]), ("gloo", [0, 0, 1, 1], [])):
                peer = run.Peer(name, "/build", network)
                peer.launcher = "launcher"
                commands = peer.commands(4, ["--max", "8"], "/store")
                self.assertEqual([words[:2] for words, _ in commands],
                                 [[network.agent, network.names[host]] for host in hosts_of_processes])
                for words, _ in commands:
                    line = words[2].replace(network.names[0], "HOST0").replace(network.names[1], "HOST1")
                    self.assertTrue(line.endswith(f"{name}_peer --max 8"), line)
                    for piece in pieces:
                        self.assertIn(piece, line)
            self.assertEqual([environment["PEER_INTERFACE"] for _, environment in commands], ["eth0"] * 4)
            commands = run.Peer("raw", "/build", network, raw_flows=4).commands(2, [], "/store")
            self.assertEqual([words[1] for words, _ in commands], network.names)
            self.assertEqual((commands[1][1]["PEER_INTERFACE"], commands[1][1]["PEER_FLOWS"]), ("eth0,eth1", "4"))

    def test_open_mpi_yields_where_ranks_share_cores(self):
        with hosts.Hosts(2) as network, mock.patch.object(run.os, "cpu_count", lambda: 2):
            for ranks, may_yield, yields in ((2, True, False), (4, True, True), (4, False, False)):
                peer = run.Peer("openmpi", "/build", network, may_yield=may_yield)
                peer.launcher = "launcher"
                (words, _), = peer.commands(ranks, [], "/store")
                self.assertEqual("--mca mpi_yield_when_idle 1" in words[2], yields)

    def test_where_raw_takes_part(self):
        self.assertTrue(run.Peer("raw", "/build").takes_part(2, "all_reduce"))
        self.assertFalse(run.Peer("raw", "/build").takes_part(4, "all_reduce"))
        self.assertFalse(run.Peer("raw", "/build").takes_part(2, "reduce"))
        self.assertTrue(run.Peer("gloo", "/build").takes_part(4, "reduce"))

    def test_why_there_can_be_no_hosts(self):
        with mock.patch.object(hosts.os, "geteuid", lambda: 1000):
            self.assertIn("needs root", hosts.why_not())
        with mock.patch.object(hosts.os, "geteuid", lambda: 0):
            with mock.patch.object(hosts.shutil, "which", lambda name: None if name == "tc" else name):
                self.assertIsNone(hosts.why_not())
                self.assertIn("install iproute2", hosts.why_not(["1gbit"]))


class ComparisonTest(unittest.TestCase):
    def comparison(self, compare, turns):
        comparison = run.Comparison(mock.Mock(compare=compare), [])
        comparison.turns = {(2, "reduce", 8): turns}
        return comparison

    def test_ratio_is_within_a_turn(self):
        # Twice as slow in every turn, while the machine changes its pace between them.
        turns = [{"tutti": 1, "mpich": 2}, {"tutti": 4, "mpich": 8}, {"mpich": 2}, {"tutti": 1, "mpich": 2}]
        comparison = self.comparison("median", turns)
        self.assertEqual(comparison.times(), {(2, "reduce", 8): {"tutti": 1, "mpich": 2}})
        self.assertEqual(comparison.ratios(), {(2, "reduce", 8): {"mpich": 2}})

    def test_best(self):
        comparison = self.comparison("best", [{"tutti": 4, "mpich": 3}, {"tutti": 2, "mpich": 9}])
        self.assertEqual(comparison.ratios(), {(2, "reduce", 8): {"mpich": 1.5}})

    def test_without_tutti_there_are_times(self):
        comparison = self.comparison("median", [{"mpich": 3}])
        self.assertEqual(comparison.times(), {(2, "reduce", 8): {"mpich": 3}})
        self.assertEqual(comparison.ratios(), {(2, "reduce", 8): {}})


class FakeHosts:
    """Like hosts.Hosts. Every look at the cards finds `step` bytes more."""

    def __init__(self, step):
        self.step, self.carried, self.count, self.cards, self.rates = step, 0, 2, ["eth0"], ()

    def __call__(self, *_):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def text(self):
        return "two pretended hosts"

    def carried_bytes(self):
        self.carried += self.step
        return self.carried


class WholeTest(unittest.TestCase):
    def run_on_hosts(self, scripts, step, *arguments):
        with mock.patch.object(hosts, "Hosts", FakeHosts(step)), mock.patch.object(hosts, "why_not", lambda _: None):
            return self.run_main(scripts, "--hosts", "2", *arguments)

    def test_several_hosts(self):
        scripts = {"tutti": rank_program(us=5), "openmpi": rank_program(us=4), "raw": rank_program(us=1)}
        with tempfile.TemporaryDirectory() as folder:
            status, text = self.run_on_hosts(scripts, 8, "--quick", "--json", folder + "/r.json", "--svg-dir", folder)
            with open(folder + "/r.json", encoding="utf-8") as file:
                data = json.load(file)
        self.assertEqual(status, 0)
        for piece in ("# hosts:   two pretended hosts", "all_reduce, 2 ranks on 2 hosts", "1.25 x the time of openmpi, goal 1.10",
                      "5.00 x the time of raw, goal 1.3", "up to 64 KiB 0.80 x as fast as the best peer"):
            self.assertIn(piece, text)
        self.assertEqual(data["hosts"]["count"], 2)
        self.assertEqual({r["library"] for r in data["results"] if r["op"] == "gather"}, {"tutti", "openmpi"})
        self.assertEqual(len(data["goals_missed"]), 3)

    def test_a_library_that_leaves_the_network_aside(self):
        status, text = self.run_on_hosts({"tutti": rank_program()}, 3, "--quick")
        self.assertEqual(status, 1)
        self.assertIn("8 bytes: less than that went over the network between the hosts", text)

    def test_wrong_options_about_hosts(self):
        for words, said in (("--nics 2", "add --hosts 2"), ("--rate 1gbit", "add --hosts 2"),
                            ("--libraries raw", "add --hosts 2"), ("--hosts 2 --neighbour", "leave --hosts out"),
                            ("--hosts 2 --library-buffers", "leave --hosts out"),
                            ("--hosts 2 --libraries plain", "leave --hosts out"), ("--hosts 2 --ranks 2,3", "3 ranks cannot be spread"),
                            ("--hosts 2 --nics 2 --rate 1gbit", "one rate for each card, so 2"), ("--hosts 0", "--hosts")):
            with self.subTest(words), mock.patch.object(sys, "argv", ["run.py", *words.split()]), \
                    contextlib.redirect_stderr(io.StringIO()) as error, self.assertRaises(SystemExit):
                run.parse_options()
            self.assertIn(said, error.getvalue())

    def test_default_ranks_and_libraries(self):
        with mock.patch.object(hosts, "why_not", lambda _: None):
            for words, ranks, has_raw in (("", [2, 4], False), ("--hosts 2", [2, 4], True), ("--hosts 3", [3, 6], False)):
                with mock.patch.object(sys, "argv", ["run.py", *words.split()]):
                    options = run.parse_options()
                self.assertEqual((options.ranks, "raw" in options.libraries), (ranks, has_raw))
                self.assertEqual("plain" in options.libraries, "--hosts" not in words)

    def run_main(self, scripts, *arguments):
        argv = ["run.py", "--ops", "all_reduce,gather", "--ranks", "2", "--libraries", ",".join(scripts),
                "--sizes", "8:8", *arguments]
        out = io.StringIO()
        with mock.patch.object(run, "Peer", lambda name, *_: FakePeer(scripts[name], name)), \
                mock.patch.object(sys, "argv", argv), contextlib.redirect_stdout(out):
            return run.main(), out.getvalue()

    def test_output_files_and_marks(self):
        lacks_gather = "words[1:2] == ['gather'] and replies.update(size='unsupported')"
        scripts = {"tutti": rank_program(us=5), "openmpi": rank_program(us=1), "mpich": "import sys; sys.exit(1)",
                   "gloo": rank_program(us=7, action=lacks_gather)}
        with tempfile.TemporaryDirectory() as folder:
            status, text = self.run_main(scripts, "--rounds", "2", "--turns", "3", "--json", folder + "/r.json",
                                         "--svg-dir", folder)
            self.assertEqual(status, 0)
            self.assertIn("5.00 x the time of openmpi", text)
            self.assertIn("Goals missed at single sizes: 2", text)
            self.assertIn("!! MPICH, gather, 2 ranks: it ended with status 1", text)
            xml.dom.minidom.parse(folder + "/all_reduce.svg")
            with open(folder + "/r.json", encoding="utf-8") as file:
                results = json.load(file)["results"]
        self.assertEqual({r["library"] for r in results if r["op"] == "gather"}, {"tutti", "openmpi"})
        self.assertEqual([(r["us_turns"], r["ratio"]) for r in results if r["library"] == "gloo"], [([7.0] * 6, 1.4)])

    def test_the_machines_limit_stands_beside_large_sizes(self):
        scripts = {"tutti": rank_program(us=4, size=f"ready 5 {1 << 20}"), "plain": rank_program(us=2, size=f"ready 5 {1 << 20}")}
        _, text = self.run_main(scripts, "--quick", "--sizes", "512K:1M")
        self.assertEqual(text.count("2.00 x the time of plain, goal 1.25"), 2)
        _, text = self.run_main(scripts, "--quick", "--sizes", "8:512K")
        self.assertNotIn("(0.50)", text)

    def test_who_gets_huge_pages(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "enabled")
            self.assertEqual(run.huge_pages(path), "none")
            for text, who in (("always [madvise] never\n", "madvise"), ("[always] madvise never\n", "always"), ("\n", "none")):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                self.assertEqual(run.huge_pages(path), who)

    def test_with_a_neighbour(self):
        with mock.patch.object(neighbour, "Neighbour") as started:
            _, text = self.run_main({"tutti": rank_program(us=5), "openmpi": rank_program(us=4)}, "--quick", "--neighbour")
        started.assert_called_once()
        self.assertIn("1.25 x the time of openmpi, goal 1.15", text)

    def test_whose_buffers_are_used(self):
        with tempfile.TemporaryDirectory() as folder:
            for words, told in (((), "ordinary"), (("--library-buffers",), "library")):
                script = f"import sys\nassert sys.argv[sys.argv.index('--buffers') + 1] == '{told}', sys.argv\n" + rank_program()
                status, text = self.run_main({"tutti": script}, "--quick", *words, "--json", folder + "/r.json")
                self.assertEqual(status, 0, text)
                with open(folder + "/r.json", encoding="utf-8") as file:
                    self.assertEqual(json.load(file)["library_buffers"], told == "library")

    def test_the_neighbour_works_half_of_the_time(self):
        with neighbour.Neighbour() as working:
            pid = working.child.pid
            time.sleep(0.5)
        self.assertFalse(os.path.exists(f"/proc/{pid}"))
        self.assertGreater(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime, 0.1)

    def test_a_failure_of_tutti_is_one(self):
        status, text = self.run_main({"tutti": rank_program(size="wrong")}, "--quick")
        self.assertEqual(status, 1)
        self.assertIn("!! Tutti, gather, 2 ranks: 8 bytes: its answer is 'wrong'", text)

    def test_a_peer_that_fails_half_way_has_its_turns_until_then(self):
        dies = "words[0] == 'batch' and globals().update(n=globals().get('n', 0) + 1) or globals().get('n') == 3 and os._exit(3)"
        status, text = self.run_main({"tutti": rank_program(us=1), "mpich": rank_program(us=3, action=dies)}, "--quick")
        self.assertEqual(status, 0)
        self.assertIn("!! MPICH, all_reduce, 2 ranks: it ended with status 3", text)
        self.assertIn("(3.00)", text)

    def test_a_peer_that_does_not_end_takes_part_in_the_next_round(self):
        scripts = {"tutti": rank_program(us=1), "mpich": rank_program(us=3) + "time.sleep(60)"}
        with mock.patch.object(run.Session, "END_LIMIT_S", 0.5):
            status, text = self.run_main(scripts, "--quick", "--rounds", "2", "--ops", "gather")
        self.assertEqual(status, 0)
        self.assertEqual(text.count("!! MPICH, gather, 2 ranks: it did not end within 0.5 s"), 2)

    def test_more_ranks_than_elements(self):
        status, text = self.run_main({"tutti": rank_program(size="small")}, "--quick")
        self.assertEqual(status, 0)
        self.assertNotIn("!!", text)

    def test_plot_of_one_point_and_of_nothing(self):
        for points in ([(8, 1.0)], []):
            chart = plot.Chart("a < b", "c & d")
            chart.add_panel("p", {"x": points})
            xml.dom.minidom.parseString(chart.svg())

    def test_a_plot_of_many_panels_can_be_read(self):
        chart = plot.Chart("all_reduce", "where")
        for ranks in (2, 3, 4):
            for mode in ("graph", "stream"):
                chart.add_panel(f"{ranks} GPUs, {mode}", {name: [(8 << i, 3.0 + i) for i in range(28)] for name in ("Tutti", "NCCL")})
        drawing = xml.dom.minidom.parseString(chart.svg())
        self.assertLessEqual(int(drawing.documentElement.getAttribute("width")), 960, "wider, a page would make it smaller")
        texts = [(float(text.getAttribute("x")), float(text.getAttribute("y")), text.firstChild.data)
                 for text in drawing.getElementsByTagName("text") if text.getAttribute("x")]
        titles = [(x, y) for x, y, text in texts if "GPUs, " in text]
        self.assertEqual((len({x for x, _ in titles}), len({y for _, y in titles})), (2, 3))
        below = sorted((y, x, text) for x, y, text in texts if re.fullmatch(r"\d+[KMG]?", text))
        self.assertGreater(len(below), 6 * 4)
        for (y, x, text), (next_y, next_x, next_text) in zip(below, below[1:]):
            if y == next_y:
                wide = 0.6 * plot.FONT * (len(text) + len(next_text)) / 2
                self.assertGreater(next_x - x, wide, f"{text} and {next_text} touch")

    def test_lines_differ_in_more_than_their_colour(self):
        chart = plot.Chart("all_reduce", "where")
        names = [f"library {i}" for i in range(len(plot.MARKERS))]
        chart.add_panel("p", {name: [(8, 1.0 + i)] for i, name in enumerate(names)})
        self.assertEqual(len({re.sub("#[0-9a-f]{6}", "", chart.marker_svg(name, 0, 0)) for name in names}), len(names))
        xml.dom.minidom.parseString(chart.svg())

    def test_sizes(self):
        self.assertEqual(run.sizes("8:64M:4"), (8, 64 << 20, 4))
        self.assertEqual(run.sizes("1K:2k"), (1024, 2048, 2))
        for text in ("8", "8:4", "0:8", "8:64:1", "8:x", "1:2:3:4", ""):
            self.assertRaises(run.argparse.ArgumentTypeError, run.sizes, text)


if __name__ == "__main__":
    unittest.main()
