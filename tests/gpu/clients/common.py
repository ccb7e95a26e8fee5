# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""What the client scripts share: ranks as processes, checks that are counted, an exit status.

A script that is started without RANK starts its ranks itself, one per GPU or as many as --ranks says, and fails where
one of them fails or does not end in time. Under a launcher (torchrun, mpirun) it is one rank.
"""

import os
import signal
import socket
import subprocess
import sys
import time
import traceback

RANK = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID")
WORLD = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")


def from_environment(names):
    return next((int(os.environ[name]) for name in names if os.environ.get(name)), None)


def count_gpus():
    """GPUs that a process sees. Asks the driver in a process of its own, so that this one may start others."""
    code = ("import ctypes,sys\n"
            "try:\n d=ctypes.CDLL('libcuda.so.1')\nexcept OSError:\n sys.exit(0)\n"
            "n=ctypes.c_int(0)\n"
            "sys.exit(min(n.value,100) if d.cuInit(0)==0 and d.cuDeviceGetCount(ctypes.byref(n))==0 else 0)")
    return subprocess.run([sys.executable, "-c", code], check=False).returncode


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start_ranks(ranks, seconds, arguments=None, command=(), environment=None):
    """Runs this script (or `command`) once per rank. Returns True where all ended well within `seconds`.

    With TUTTI_TEST_HOSTS=2 the first half of the ranks counts as being on one host, the others on another one.
    """
    hosts = int(os.environ.get("TUTTI_TEST_HOSTS", "1"))
    port = free_port()
    command = list(command) or [sys.executable, os.path.abspath(sys.argv[0])]
    command += sys.argv[1:] if arguments is None else arguments
    processes = []
    for rank in range(ranks):
        # One thread each on the CPU, as torchrun has it: else every rank's arithmetic takes all cores.
        own = dict({"OMP_NUM_THREADS": "1"}, **os.environ)
        own.update(RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(ranks),
                   MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), PYTHONUNBUFFERED="1", **(environment or {}))
        if hosts > 1:
            own["NCCL_HOSTID"] = f"host-{rank * hosts // ranks}"
        processes.append(subprocess.Popen(command, env=own, start_new_session=True))
    good = True
    deadline = time.monotonic() + seconds
    failed_at = None
    while any(p.poll() is None for p in processes):
        if failed_at is None and any(p.poll() not in (None, 0) for p in processes):
            failed_at = time.monotonic()
        if time.monotonic() > deadline or (failed_at and time.monotonic() > failed_at + 20):
            for rank, process in enumerate(processes):
                if process.poll() is None:
                    print(f"rank {rank} did not end; it is killed", flush=True)
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            good = False
        time.sleep(0.05)
    for rank, process in enumerate(processes):
        if process.returncode != 0:
            print(f"rank {rank} ended with {process.returncode}", flush=True)
            good = False
    return good


class Checks:
    """Counts checks. Rank 0 prints each; other ranks print what is wrong."""

    def __init__(self, name, rank=0):
        self.name = name
        self.rank = rank
        self.count = 0
        self.wrong = 0
        self.left_out = 0

    def run(self, what, check):
        """`check()` returns nothing, or a text that says what is wrong; None and "" are good. LeftOut leaves it out."""
        try:
            problem = check() or ""
        except LeftOut as reason:
            self.left_out += 1
            if self.rank == 0:
                print(f"left out  {what}: {reason}", flush=True)
            return
        except Exception as error:  # a check that fails must not hide the others
            problem = f"{type(error).__name__}: {error}"
            traceback.print_exc()
        self.count += 1
        if problem:
            self.wrong += 1
            print(f"WRONG     {what} (rank {self.rank}): {problem}", flush=True)
        elif self.rank == 0:
            print(f"ok        {what}", flush=True)

    def end(self, wrong_on_all=None):
        """The last line, and the exit status of this rank."""
        wrong = self.wrong if wrong_on_all is None else wrong_on_all
        if self.rank == 0:
            left_out = f", {self.left_out} left out" if self.left_out else ""
            print(f"{self.name}: {self.count} checks{left_out}, {wrong} wrong", flush=True)
        return 0 if wrong == 0 and self.count > 0 else 1


class LeftOut(Exception):
    """A check that cannot be made here; the text says why."""
