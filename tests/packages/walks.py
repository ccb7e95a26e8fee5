#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Goes the ways of a new user that docs/install.md describes under "On a bare machine", with the files of a release, and takes their time.

    ./dev release
    debootstrap --variant=minbase bookworm /tmp/bare
    tests/packages/walks.py build/releases/VERSION --root /tmp/bare [--torch-env FOLDER] [--only WORDS] [--json FILE]

Each way begins in a copy of the bare system, in an empty folder with the release's files. Its commands, files and what it is to print are
taken from the page. That for PyTorch runs on this machine, in the virtual environment that --torch-env names, which has torch. It needs
root. Exit status 1 where a command fails, prints something else, or a way takes longer than three minutes.
"""

import argparse
import datetime
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "../.."))
PAGE = os.path.join(ROOT, "docs/install.md")
LIMIT_S = 180
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"  # of whom this machine trusts, which may be a proxy of its own
# Runs $2 below $1, in a name space of its own, so that nothing stays mounted.
ENTER = 'mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc" && mount -t tmpfs tmpfs "$1/dev/shm" && exec chroot "$1" /bin/bash -c "$2"'


class Wrong(Exception):
    pass


class Way:
    """One of the page's: its name, files, commands, and what the last command is to print."""

    def __init__(self, name, text):
        self.name = name
        self.files = dict(re.findall(r"<!-- file: (\S+) -->\n```\w*\n(.*?)```", text, re.S))
        prose = re.sub(r"```.*?```", "", text, flags=re.S)
        self.commands = [re.sub(r"\s+# .*", "", line) for line in re.findall(r"^    (\S.*)$", prose, re.M)]
        printed = re.search(r"It prints `([^`]+)`", prose)
        self.prints = printed[1] if printed else None
        self.torch = "torch" in name.lower()


def ways(text):
    section = re.search(r"^## On a bare machine\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    if not section:
        raise Wrong(f"{PAGE} has no section 'On a bare machine'")
    parts = re.split(r"^### (.*)\n", section[1], flags=re.M)
    found = [Way(name, part) for name, part in zip(parts[1::2], parts[2::2])]
    for way in found:
        if not way.commands or not way.prints:
            raise Wrong(f"'{way.name}' of {PAGE} has no commands, or does not say what it prints")
    return found


def copy_of(root, work):
    """A copy of the bare system that reaches what this machine reaches."""
    bare = os.path.join(work, "root")
    subprocess.run(["cp", "-a", "--reflink=auto", root, bare], check=True)
    shutil.copy("/etc/resolv.conf", os.path.join(bare, "etc/resolv.conf"))
    if os.path.exists(CERTIFICATES):
        shutil.copy(CERTIFICATES, os.path.join(bare, "srv/certificates.crt"))
    return bare


def environment(bare):
    kept = {name: value for name, value in os.environ.items() if name in ("PIP_INDEX_URL", "PIP_CERT") or name.lower().endswith("_proxy")}
    if bare is not None and os.path.exists(CERTIFICATES):
        kept["PIP_CERT"] = "/srv/certificates.crt"
    return {**kept, "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/srv", "LC_ALL": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive", "TERM": "dumb"}


def go(way, release, work, bare, torch_env):
    """Seconds of each command. Without `bare`, on this machine."""
    folder = os.path.join(bare or work, "srv/tutti")
    os.makedirs(folder)
    for name in os.listdir(release):
        shutil.copy(os.path.join(release, name), folder)
    for name, text in way.files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    if bare is None:
        os.symlink(os.path.abspath(torch_env), os.path.join(folder, "env"))
    took, said = [], ""
    for command in way.commands:
        begin = time.monotonic()
        said = run(command, folder, bare)
        took.append(time.monotonic() - begin)
        print(f"{took[-1]:7.1f} s  {command}", flush=True)
    if way.prints not in said:
        raise Wrong(f"{way.name}: the page says that it prints '{way.prints}', but it printed:\n{said[-3000:]}")
    return took


def run(command, folder, bare):
    """What it prints; in the folder, which is one of the bare system if there is one."""
    words = ["bash", "-c", command]
    if bare is not None:
        words = ["unshare", "--mount", "bash", "-c", ENTER, "enter", bare, f"cd /srv/tutti && {command}"]
    done = subprocess.run(words, cwd=folder, env=environment(bare), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=4 * LIMIT_S, check=False)
    if done.returncode != 0:
        raise Wrong(f"'{command}' ended with exit status {done.returncode}:\n{done.stdout[-3000:]}")
    return done.stdout


def import_ms(bare):
    """The median time of `import tutti` in a new interpreter, in the environment that the first way has made."""
    program = "import time; begin = time.perf_counter(); import tutti; print((time.perf_counter() - begin) * 1000)"
    folder = os.path.join(bare, "srv/tutti")
    return statistics.median(float(run(f"env/bin/python -c '{program}'", folder, bare)) for _ in range(9))


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = re.search(r"model name\s*: (.*)", file.read())
    return {"cpu": cpu[1] if cpu else "unknown", "cores": os.cpu_count()}


def walk(options):
    rows, wrong, also = [], 0, {}
    with open(PAGE, encoding="utf-8") as file:
        found = ways(file.read())
    for way in found:
        if options.only and not re.search(options.only, way.name) or way.torch and not options.torch_env:
            print(f"left out: {way.name}")
            continue
        print(way.name, flush=True)
        with tempfile.TemporaryDirectory(prefix="tutti-bare-", dir=options.work) as work:
            bare = None if way.torch else copy_of(options.root, work)
            took = go(way, options.release, work, bare, options.torch_env)
            if bare and os.path.exists(os.path.join(bare, "srv/tutti/env")):
                also["import_ms"] = round(import_ms(bare), 1)
        print(f"{sum(took):7.1f} s  in all, of {LIMIT_S}", flush=True)
        wrong += sum(took) > LIMIT_S
        rows.append({"walk": way.name, "seconds": round(sum(took), 1), "limit_s": LIMIT_S,
                     "steps": [{"command": command, "seconds": round(s, 1)} for command, s in zip(way.commands, took)]})
    wheel = next(name for name in os.listdir(options.release) if name.endswith(".whl"))
    also["wheel_bytes"] = os.path.getsize(os.path.join(options.release, wheel))
    print(f"{wheel}: {also}")
    if options.json:
        revision = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"kind": "walks", "date": datetime.datetime.now().isoformat(timespec="minutes"), "machine": machine(),
                       "command": "tests/packages/walks.py RELEASE --root BARE --torch-env FOLDER --json FILE", "revision": revision,
                       **also, "rows": rows}, file, indent=1)
            file.write("\n")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("release", help="the folder that ./dev release has made")
    parser.add_argument("--root", required=True, help="a bare system, as debootstrap makes it; it is copied, not changed")
    parser.add_argument("--torch-env", help="a virtual environment with torch; without it that way is left out")
    parser.add_argument("--only", metavar="REGEX", help="the ways whose names match")
    parser.add_argument("--work", default="/tmp", help="where copies of the bare system go (default: /tmp)")
    parser.add_argument("--json", metavar="FILE", help="write the times, as bench/results has them")
    try:
        return walk(parser.parse_args())
    except Wrong as error:
        print(f"walks: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
