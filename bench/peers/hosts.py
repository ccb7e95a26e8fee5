# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Several hosts on one machine: a network name space each, which only virtual network cards join.

    host 0: eth0 10.78.0.1, eth1 10.78.1.1          host 1: eth0 10.78.0.2, eth1 10.78.1.2
              |               +------------------------------|---------------+
              +----------------------------------------------+

Two hosts have a pair of cards for each network. Of more hosts, every card leads to a bridge in one more name space, the
switch. So nothing of this is seen on the machine itself, and all of it goes with the name spaces. They are called
tutti-peers-PID-0 and so on, where PID is this process. What a run has left that was killed is removed by the next one.
"""

import atexit
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

PREFIX = "tutti-peers-"
FOLDER = "/run/netns"


class HostsFailed(Exception):
    """Hosts could not be made or looked at. The text is a sentence."""


def why_not(rates=()):
    """Why there can be no hosts on this machine, as a sentence; or None."""
    if os.geteuid() != 0:
        return "--hosts needs root, for network name spaces"
    for program, package in (("ip", "iproute2"), ("unshare", "util-linux"), *((("tc", "iproute2"),) if rates else ())):
        if shutil.which(program) is None:
            return f"--hosts needs the program {program}: install {package}"
    return None


def command(*words):
    """What a command of the system writes. It is out of reach of the terminal's Ctrl-C, and so is never cut short."""
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          start_new_session=True)
    if done.returncode != 0:
        said = " ".join(done.stderr.split()) or f"status {done.returncode}"
        raise HostsFailed(f"'{shlex.join(words)}' failed: {said}")
    return done.stdout


class Hosts:
    """Made by `with`, and removed at its end, however that comes."""

    def __init__(self, count, cards=1, rates=()):
        """`rates`: one of each card, as tc writes it; none: as fast as the machine is."""
        self.count, self.rates = count, tuple(rates)
        self.cards = [f"eth{card}" for card in range(cards)]
        self.names = [f"{PREFIX}{os.getpid()}-{host}" for host in range(count)]
        self.switch = f"{PREFIX}{os.getpid()}-switch" if count > 2 else None
        self.folder = None
        self.agent = None  # the path of what launchers take for ssh: it is given a host and a line for its shell

    def __enter__(self):
        remove_forgotten()
        atexit.register(self.remove)  # also where Ctrl-C comes between this and the body of `with`
        try:
            self.make()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    def make(self):
        self.folder = tempfile.TemporaryDirectory(prefix="tutti-peers-")
        self.agent = os.path.join(self.folder.name, "agent")
        with open(self.agent, "w", encoding="utf-8") as file:
            # Launchers compare hosts by their names, so each has one of its own.
            file.write('#!/bin/sh\nhost=$1\nshift\nexec ip netns exec "$host" unshare --uts sh -c "hostname $host; $*"\n')
        os.chmod(self.agent, 0o700)
        for name in self.name_spaces():
            command("ip", "netns", "add", name)
            command("ip", "-n", name, "link", "set", "lo", "up")
        for card, interface in enumerate(self.cards):
            self.join(card, interface)
        for name in self.names:
            for interface in self.cards:
                await_link(name, interface)

    def join(self, card, interface):
        """Makes one card of every host, and what joins them."""
        if self.switch is None:
            command("ip", "-n", self.names[0], "link", "add", interface, "type", "veth", "peer", "name", interface,
                    "netns", self.names[1])
        else:
            command("ip", "-n", self.switch, "link", "add", interface, "type", "bridge")
            command("ip", "-n", self.switch, "link", "set", interface, "up")
        for host, name in enumerate(self.names):
            if self.switch is not None:
                port = f"{interface}-{host}"
                command("ip", "-n", self.switch, "link", "add", port, "type", "veth", "peer", "name", interface, "netns",
                        name)
                command("ip", "-n", self.switch, "link", "set", port, "master", interface, "up")
                self.shape(self.switch, port, card)
            command("ip", "-n", name, "addr", "add", f"10.78.{card}.{host + 1}/24", "dev", interface)
            command("ip", "-n", name, "link", "set", interface, "up")
            self.shape(name, interface, card)

    def shape(self, name, interface, card):
        """Limits what leaves by one end of a cable."""
        if self.rates:
            command("tc", "-n", name, "qdisc", "replace", "dev", interface, "root", "tbf", "rate", self.rates[card],
                    "burst", "128k", "latency", "50ms")

    def remove(self):
        """Ends what still runs on the hosts, and removes them. Signals that would stop this wait until it is done."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
        try:
            for name in self.name_spaces():
                remove(name)
            if self.folder is not None:
                self.folder.cleanup()
                self.folder = None
            atexit.unregister(self.remove)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def name_spaces(self):
        return self.names + ([self.switch] if self.switch else [])

    def on(self, host, words):
        """The command that runs these words on a host."""
        return [self.agent, self.names[host], "exec " + shlex.join(words)]

    def places(self, ranks):
        """The hosts with the number of ranks on each, as launchers read it."""
        return ",".join(f"{name}:{ranks // self.count}" for name in self.names)

    def host_of(self, rank, ranks):
        return rank // (ranks // self.count)

    def carried_bytes(self):
        """All that host 0 has sent and received over its cards until now."""
        links = json.loads(command("ip", "-n", self.names[0], "-s", "-j", "link", "show"))
        return sum(link["stats64"][way]["bytes"] for link in links if link["ifname"] in self.cards for way in ("rx", "tx"))

    def text(self):
        cards = "one card" if len(self.cards) == 1 else f"{len(self.cards)} cards"
        rates = ", ".join(self.rates) if self.rates else "no limit"
        joined = "pairs of virtual cards" if self.switch is None else "a bridge for each card"
        return f"{self.count} network name spaces, {cards} each ({rates}), joined by {joined}"


def await_link(name, interface):
    """Waits until a card has a link: the kernel may take a second to say so, and programs leave out cards without one."""
    deadline = time.monotonic() + 5
    while " UP " not in command("ip", "-n", name, "-br", "link", "show", interface):
        if time.monotonic() > deadline:
            raise HostsFailed(f"{interface} of {name} has no link after 5 s")
        time.sleep(0.02)


def remove(name):
    """Removes a name space, if there is one, and what runs there."""
    if not os.path.exists(os.path.join(FOLDER, name)):
        return
    try:
        deadline = time.monotonic() + 3
        while (processes := command("ip", "netns", "pids", name).split()) and time.monotonic() < deadline:
            for process in processes:
                try:
                    os.kill(int(process), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.02)
    except HostsFailed:
        pass  # a name without a name space: its making was cut short
    try:
        command("ip", "netns", "del", name)
    except HostsFailed as failed:
        print(f"!! {name} is left behind: {failed}")


def remove_forgotten():
    """Removes the hosts of runs that are no more."""
    for name in sorted(os.listdir(FOLDER)) if os.path.isdir(FOLDER) else ():
        owner = name[len(PREFIX):].split("-")[0]
        if name.startswith(PREFIX) and owner.isdigit() and not os.path.exists(f"/proc/{owner}"):
            remove(name)
