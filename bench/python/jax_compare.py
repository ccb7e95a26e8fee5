#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Compares JAX's collectives between processes on CPUs over Tutti with those over its own Gloo.

    bench/python/jax_compare.py --ranks 4                      a table; the python that runs it has to have jax
    bench/python/jax_compare.py --ops all_reduce --sizes 8 65536 --json out.json

Both run the same program. In each round each of them is started once, with all its processes, one after the other. Two times are measured,
on process 0:

call    one call of a jitted function with one collective, until its result is there: what a program sees, with all that JAX does around it
loop    the same collective many times in a loop inside one jitted function, divided by their number: what the collective costs

A time is the median over all calls of a round, then over the rounds. The ratio is Gloo's / Tutti's, of these medians; the lowest and
highest of any two rounds stand beside it. Sizes are bytes of each process's input.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import statistics
import subprocess
import sys
import time

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
OPS = ("all_reduce", "all_gather", "reduce_scatter", "ppermute", "all_to_all")
SIZES = (8, 512, 4096, 65536, 1 << 20, 16 << 20)
LIBRARIES = ("gloo", "tutti")
LIMIT_S = 600  # for all that one library measures in one round


# ---------------------------------------------------------------------------------------------------------------
# A process of the program that is measured.

def worker(arguments):
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax import lax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    jax.distributed.initialize(num_processes=int(os.environ["TUTTI_RANKS"]), process_id=int(os.environ["TUTTI_RANK"]))
    n, me = jax.process_count(), jax.process_index()
    mesh = Mesh(np.array(jax.devices()), ("i",))
    ring = [(k, (k + 1) % n) for k in range(n)]
    # Each takes a vector and gives one of the same length, so that it can follow itself.
    bodies = {
        "all_reduce": lambda x: lax.psum(x, "i") * (1 / n),
        "all_gather": lambda x: lax.all_gather(x, "i", tiled=True)[x.shape[0] * (n - 1):],
        "reduce_scatter": lambda x: jnp.tile(lax.psum_scatter(x, "i", tiled=True) * (1 / n), n),
        "ppermute": lambda x: lax.ppermute(x, "i", ring),
        "all_to_all": lambda x: lax.all_to_all(x, "i", 0, 0, tiled=True),
    }

    def median_us(function, data, calls):
        for _ in range(max(2, calls // 5)):
            function(data).block_until_ready()
        times = []
        for _ in range(calls):
            start = time.perf_counter()
            function(data).block_until_ready()
            times.append(time.perf_counter() - start)
        return statistics.median(times) * 1e6

    results = []
    for op in arguments.ops:
        body = bodies[op]
        for size in arguments.sizes:
            count = max(size // 4, n if op in ("reduce_scatter", "all_to_all") else 1)
            calls, turns = (200, 50) if size <= 65536 else (30, 10) if size <= 1 << 20 else (8, 3)
            shape = (n * count,)
            data = jax.make_array_from_callback(shape, NamedSharding(mesh, P("i")),
                                                lambda index, shape=shape: np.ones(shape, np.float32)[index])

            def mapped(function):
                return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=P("i"), out_specs=P("i"), check_vma=False))

            once = mapped(body)
            many = mapped(lambda x, body=body, turns=turns: lax.fori_loop(0, turns, lambda _, y: body(y), x))
            out, = many(data).addressable_shards
            if not np.array_equal(np.asarray(out.data), np.ones(count, np.float32)):
                raise SystemExit(f"rank {me}: {op} of {size} bytes gave something else than ones")
            results.append({"op": op, "bytes": count * 4, "call_us": median_us(once, data, calls),
                            "loop_us": median_us(many, data, max(5, calls // 10)) / turns})
    if me == 0:
        print("RESULTS " + json.dumps(results), flush=True)


# ---------------------------------------------------------------------------------------------------------------

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def measure(library, arguments):
    """What process 0 of a fresh start has measured."""
    environment = {**os.environ, "JAX_COORDINATOR_ADDRESS": f"127.0.0.1:{free_port()}", "JAX_PLATFORMS": "cpu",
                   "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "mpi" if library == "tutti" else "gloo", "MPITRAMPOLINE_LIB": arguments.library}
    command = [arguments.tutti, "run", "-n", str(arguments.ranks), sys.executable, os.path.abspath(__file__), "--worker", "--ops",
               *arguments.ops, "--sizes", *map(str, arguments.sizes)]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        raise SystemExit(f"{library} has not ended within {LIMIT_S} s") from None
    lines = [line[len("RESULTS "):] for line in done.stdout.splitlines() if line.startswith("RESULTS ")]
    if done.returncode != 0 or not lines:
        raise SystemExit(f"{library} failed with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
    return {(r["op"], r["bytes"]): r for r in json.loads(lines[0])}


def goal(size):
    return 5.0 if size <= 65536 else 2.0


def machine():
    cpu = platform.processor()
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), cpu)
    return {"cpu": cpu, "cores": os.cpu_count(), "kernel": platform.release()}


def summary(rounds, key, what):
    """Medians of both libraries, their ratio, and the lowest and highest ratio of any two rounds."""
    times = {library: [r[key][what] for r in rounds[library]] for library in LIBRARIES}
    middle = {library: statistics.median(times[library]) for library in LIBRARIES}
    return {**middle, "ratio": middle["gloo"] / middle["tutti"], "lowest": min(times["gloo"]) / max(times["tutti"]),
            "highest": max(times["gloo"]) / min(times["tutti"])}


def table(keys, all_of):
    lines = ["| collective | bytes | call: Gloo us | Tutti us | ratio | loop: Gloo us | Tutti us | ratio | goal |",
             "|---|---|---|---|---|---|---|---|---|"]
    for op, size in keys:
        cells = [op, str(size)]
        for what in ("call_us", "loop_us"):
            s = all_of[op, size][what]
            cells += [f"{s['gloo']:.0f}", f"{s['tutti']:.0f}", f"{s['ratio']:.1f} ({s['lowest']:.1f} to {s['highest']:.1f})"]
        met = all_of[op, size]["loop_us"]["ratio"] >= goal(size)
        lines.append("| " + " | ".join([*cells, f"{goal(size):.0f}{'' if met else ', missed'}"]) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ops", nargs="+", choices=OPS, default=OPS, metavar="OP")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, metavar="BYTES")
    parser.add_argument("--json", help="where to write all of it")
    parser.add_argument("--tutti", default=os.path.join(ROOT, "build/release/tools/tutti"), help="the program tutti")
    parser.add_argument("--library", default=os.path.join(ROOT, "build/release/libtutti_mpitrampoline.so"))
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        worker(arguments)
        return
    import jaxlib
    rounds = {library: [] for library in LIBRARIES}
    for number in range(arguments.rounds):
        for library in LIBRARIES:
            print(f"round {number + 1} of {arguments.rounds}: {library}", file=sys.stderr, flush=True)
            rounds[library].append(measure(library, arguments))
    keys = list(rounds["tutti"][0])
    all_of = {key: {what: summary(rounds, key, what) for what in ("call_us", "loop_us")} for key in keys}
    host = machine()
    print(f"{host['cpu']}, {host['cores']} cores; {arguments.ranks} processes; jaxlib {jaxlib.__version__}; "
          f"{arguments.rounds} rounds\n")
    print(table(keys, all_of))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"machine": host, "jaxlib": jaxlib.__version__, "ranks": arguments.ranks, "rounds": arguments.rounds,
                       "results": [{"op": op, "bytes": size, **all_of[op, size]} for op, size in keys]}, file, indent=1)
            file.write("\n")


main()
