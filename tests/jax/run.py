#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Tries JAX over Tutti; `./dev test jax` builds what it needs and calls it with a Python that has JAX.

    tests/jax/run.py BUILD_FOLDER [--only WORDS] [--jax-source FOLDER]

names      every name that this jaxlib resolves is in libtutti_mpitrampoline.so
hand       collectives.py on 4 processes, by the two environment variables alone
import     the same on 4 and on 3 processes by `import tutti.jax`, under `tutti run`
plain      the same on 4 processes that no launcher has started, which tell jax.distributed.initialize who they are
order      `import jax` before `import tutti.jax` is refused, with what to do
death      a process that ends amid a collective is named by the others
own        JAX's own tests of several processes, over Gloo and over Tutti, from a checkout of the same version of JAX (--jax-source): what
           passes over Gloo passes over Tutti, but for what known.txt names

Exit status 1 where something is wrong.
"""

import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT_S = 400  # for any command; most of it is JAX's compiler
LIBRARY = "libtutti_mpitrampoline.so"
# Of JAX's own tests: those that compute between processes.
OWN = ("all_gather", "all_reduce", "all_to_all", "array", "axis_index", "device_id", "host_callback", "multihost_utils", "pjit", "pmap",
       "wait_barrier")


class Wrong(Exception):
    pass


def check(right, text):
    if not right:
        raise Wrong(text)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run(*command, environment=None, fails=False, limit_s=LIMIT_S):
    """What the command printed. Raises Wrong where it fails, or does not although it should."""
    clean = {name: value for name, value in os.environ.items()
             if name not in ("MPITRAMPOLINE_LIB", "JAX_CPU_COLLECTIVES_IMPLEMENTATION") and not name.startswith("TUTTI_R")}
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=limit_s,
                              env={**clean, "JAX_PLATFORMS": "cpu", **(environment or {})}, check=False)
    except subprocess.TimeoutExpired as late:
        raise Wrong(f"has not ended within {limit_s} s: {' '.join(command)}\n{(late.stdout or b'')[-3000:]}") from None
    check((done.returncode != 0) == fails, f"ended with {done.returncode}: {' '.join(command)}\n{done.stdout[-6000:]}")
    return done.stdout


class Trial:
    def __init__(self, build, source):
        self.build = os.path.abspath(build)
        self.source = source
        self.library = os.path.join(self.build, LIBRARY)
        self.python_path = {"PYTHONPATH": os.path.join(self.build, "python")}
        self.by_hand = {"MPITRAMPOLINE_LIB": self.library, "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "mpi"}

    def ranks(self, count, *command, **options):
        return run(os.path.join(self.build, "tools/tutti"), "run", "-n", str(count), "--tag-output", *command, **options)

    def names(self):
        import jaxlib
        path = os.path.join(os.path.dirname(jaxlib.__file__), "libjax_common.so")
        with open(path, "rb") as file:
            wanted = {match.decode() for match in re.findall(rb"(?<=\0)(?:MPIX?ABI_|mpiabi_version_|mpiwrapper_)\w+(?=\0)", file.read())}
        check(len(wanted) > 600, f"{path} names only {len(wanted)} functions and constants of MPI: has MPItrampoline gone?")
        shown = {line.split()[-1] for line in run("nm", "-D", "--defined-only", self.library).splitlines()}
        missing = sorted(name for name in wanted - shown if not re.fullmatch(r"mpiabi_loaded_version_\w+", name))
        check(not missing, f"jaxlib {jaxlib.__version__} resolves what {LIBRARY} has not: {' '.join(missing)}")
        return f"jaxlib {jaxlib.__version__}: {len(wanted)} names"

    def hand(self):
        return self.verdict(self.ranks(4, sys.executable, os.path.join(HERE, "collectives.py"),
                                       environment={**self.by_hand, "JAX_COORDINATOR_ADDRESS": f"127.0.0.1:{free_port()}"}))

    def imported(self):
        return "; ".join(self.verdict(self.ranks(count, sys.executable, os.path.join(HERE, "collectives.py"), "--by-import",
                                                 environment=self.python_path)) for count in (4, 3))

    def plain(self):
        port = str(free_port())
        program = ("import sys, tutti.jax, jax\n"
                   "jax.distributed.initialize('127.0.0.1:' + sys.argv[1], 4, int(sys.argv[2]))\n"
                   "from jax.experimental.multihost_utils import process_allgather\n"
                   "assert process_allgather(jax.numpy.int32(jax.process_index())).tolist() == [0, 1, 2, 3]\n")
        words = " & ".join(f"'{sys.executable}' -c \"$1\" {port} {rank}" for rank in range(1, 4))
        run("bash", "-ec", f"{words} & '{sys.executable}' -c \"$1\" {port} 0; wait", "bash", program, environment=self.python_path)
        return "4 processes without a launcher"

    def order(self):
        told = run(sys.executable, "-c", "import jax, tutti.jax", environment=self.python_path, fails=True)
        check("put `import tutti.jax` before `import jax`" in told, told)
        return "refused with what to do"

    def death(self):
        program = ("import os, sys, tutti.jax, jax\n"
                   "jax.distributed.initialize()\n"
                   "from jax.experimental.multihost_utils import process_allgather as gather\n"
                   "gather(jax.numpy.int32(1))\n"
                   "if jax.process_index() == 2: os._exit(0)\n"
                   "try: gather(jax.numpy.int32(1))\n"
                   "except Exception as error: print('heard:', error, flush=True)\n"
                   "os._exit(0)\n")
        told = self.ranks(3, sys.executable, "-c", program, environment=self.python_path)
        heard = [line for line in told.splitlines() if "heard:" in line]
        check(len(heard) == 2 and all("rank 2" in line for line in heard), told[-4000:])
        return heard[0][:160]

    @staticmethod
    def verdict(told):
        right = [line for line in told.splitlines() if line.endswith("are right")]
        check(right, told[-4000:])
        return right[0].partition("] ")[2]

    # JAX's own tests -------------------------------------------------------------------------------------------

    def own(self):
        if not self.source:
            return "left out: --jax-source names no checkout of JAX"
        with open(os.path.join(HERE, "known.txt"), encoding="utf-8") as file:
            known = {line.split()[0] for line in file if line.strip() and not line.startswith("#")}
        passed, left_out, faults = 0, 0, []
        for name in OWN:
            good = {test for test, how in self.own_file(name, "gloo").items() if how == "OK"}
            wanted = sorted(good - known)  # one that never ends would keep the others from running
            outcome = self.own_file(name, "mpi", wanted) if wanted else {}
            lost = [test for test in wanted if outcome.get(test) != "OK"]
            passed += len(wanted) - len(lost)
            left_out += len(good) - len(wanted)
            faults += [f"{name}_test.py {test}: passes over Gloo, over Tutti: {outcome.get(test, 'not run')}" for test in lost]
            print(f"   {name}_test.py: {len(good)} pass over Gloo, {len(wanted) - len(lost)} of them over Tutti", flush=True)
        check(not faults, "\n".join(faults))
        return f"{passed} of {passed + left_out} tests that pass over Gloo pass over Tutti; {left_out} are known not to"

    def own_file(self, name, library, tests=()):
        """Test -> how it ended on process 0. No tests: all of the file."""
        path = os.path.join(self.source, "tests/multiprocess", f"{name}_test.py")
        flags = (f"--num_processes=4 --multiprocess_test_controller_address=127.0.0.1:{free_port()} --heartbeat_timeout=100 "
                 f"--shutdown_timeout=100 --barrier_timeout=100 --initialization_timeout=100 "
                 f"--jax_cpu_collectives_implementation={library} {' '.join(tests)}")
        command = (os.path.join(self.build, "tools/tutti"), "run", "-n", "4", "--tag-output", "sh", "-c",
                   f"exec '{sys.executable}' '{path}' --multiprocess_test_worker_id=$TUTTI_RANK {flags}")
        environment = {**os.environ, "JAX_PLATFORMS": "cpu", **(self.by_hand if library == "mpi" else {})}
        with tempfile.TemporaryFile("w+", errors="replace") as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
            try:
                process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                process.terminate()  # tutti run ends its ranks
                process.wait()
            output.seek(0)
            return dict(reversed(match) for match in re.findall(r"^\[0\] \[ *(OK|FAILED|SKIPPED) *\] (\S+)", output.read(), re.M))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--only", default="", help="some of the words above, separated by commas")
    parser.add_argument("--jax-source", help="a checkout of JAX, of the version that is installed")
    arguments = parser.parse_args()
    trial = Trial(arguments.build, arguments.jax_source)
    parts = {"names": trial.names, "hand": trial.hand, "import": trial.imported, "plain": trial.plain, "order": trial.order,
             "death": trial.death, "own": trial.own}
    wanted = arguments.only.split(",") if arguments.only else list(parts)
    if unknown := set(wanted) - set(parts):
        parser.error(f"--only: no such part: {', '.join(sorted(unknown))}")
    failed = False
    for name in wanted:
        start = time.monotonic()
        try:
            print(f"{name}: {parts[name]()} ({time.monotonic() - start:.0f} s)", flush=True)
        except Wrong as wrong:
            failed = True
            print(f"{name}: WRONG: {wrong}", flush=True)
    sys.exit(failed)


main()
