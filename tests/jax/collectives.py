#!/usr/bin/env python3
# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""JAX's collectives between processes, compared with numpy: one rank of `tutti run -n 4`.

    collectives.py                  JAX_CPU_COLLECTIVES_IMPLEMENTATION and MPITRAMPOLINE_LIB are set by hand; JAX_COORDINATOR_ADDRESS too
    collectives.py --by-import      `import tutti.jax` sets them, and jax.distributed.initialize() finds the rest

Rank 0 prints how many results were compared.
"""

import os
import sys

import numpy as np

BY_IMPORT = "--by-import" in sys.argv
if BY_IMPORT:
    import tutti.jax  # noqa: F401 - before jax
import jax

if BY_IMPORT:
    jax.distributed.initialize()
else:
    jax.distributed.initialize(num_processes=int(os.environ["TUTTI_RANKS"]), process_id=int(os.environ["TUTTI_RANK"]))
jax.config.update("jax_enable_x64", True)

from jax import lax  # noqa: E402 - after the processes have met
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "complex64", "complex128", "bool",
         "bfloat16", "float16")
# What XLA refuses to gather, scatter or reduce by MPI before it calls any library: MPI has no type for them. bfloat16 it reduces as
# float32.
NOT_GATHERED = ("bfloat16", "float16")
NOT_REDUCED = ("float16",)
compared = 0


def equal(got, wanted, what):
    global compared
    if not np.array_equal(np.asarray(got), np.asarray(wanted)):
        raise SystemExit(f"rank {jax.process_index()}: {what}: got {np.asarray(got)}, wanted {np.asarray(wanted)}")
    compared += 1


def spread(mesh, spec, whole):
    """An array of which each process has the part of its device."""
    return jax.make_array_from_callback(whole.shape, NamedSharding(mesh, spec), lambda index: whole[index])


def mapped(function, mesh, spec, whole, out=None):
    """This process's part of what the function makes of each device's part of `whole`, and the part's place."""
    mapped_function = jax.jit(jax.shard_map(function, mesh=mesh, in_specs=spec, out_specs=out or spec, check_vma=False))
    shard, = mapped_function(spread(mesh, spec, whole)).addressable_shards
    return shard.data


def reductions(mesh, n, me):
    for name in TYPES:
        if name in NOT_REDUCED:
            continue
        kind = jax.numpy.dtype(name)
        whole = (np.arange(n * 5).reshape(n, 5) % 3 + 1).astype(kind)
        equal(mapped(lambda x: lax.psum(x, "i"), mesh, P("i"), whole)[0],
              whole.sum(0) if name != "bool" else whole.astype(np.int32).sum(0), f"psum of {name}")
        if not name.startswith("complex"):
            equal(mapped(lambda x: lax.pmax(x, "i"), mesh, P("i"), whole)[0], whole.max(0), f"pmax of {name}")
            equal(mapped(lambda x: lax.pmin(x, "i"), mesh, P("i"), whole)[0], whole.min(0), f"pmin of {name}")
        if name == "bool" or name in NOT_GATHERED:
            continue
        parts = (np.arange(n * n * 3).reshape(n, n * 3) % 4).astype(kind)
        equal(mapped(lambda x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True), mesh, P("i"), parts)[0],
              parts.sum(0).astype(kind)[me * 3:me * 3 + 3], f"psum_scatter of {name}")


def moves(mesh, n, me):
    for name in TYPES:
        kind = jax.numpy.dtype(name)
        whole = np.arange(n * n * 2).reshape(n, n * 2).astype(kind)
        if name not in NOT_GATHERED:
            equal(mapped(lambda x: lax.all_gather(x, "i"), mesh, P("i"), whole).reshape(n, n * 2), whole, f"all_gather of {name}")
        equal(mapped(lambda x: lax.ppermute(x, "i", [(k, (k + 1) % n) for k in range(n)]), mesh, P("i"), whole)[0], whole[(me - 1) % n],
              f"ppermute of {name}")
        equal(mapped(lambda x: lax.all_to_all(x, "i", split_axis=1, concat_axis=1, tiled=True), mesh, P("i"), whole)[0],
              whole[:, me * 2:me * 2 + 2].reshape(-1), f"all_to_all of {name}")
    if n > 2:  # some send to nobody, and get zeros where nobody sends to them; one sends to itself
        whole = np.arange(n * 3.0).reshape(n, 3)
        got = mapped(lambda x: lax.ppermute(x, "i", [(0, n - 1), (1, 1)]), mesh, P("i"), whole)[0]
        equal(got, whole[0] if me == n - 1 else whole[1] if me == 1 else np.zeros(3), "ppermute of few")


def sizes(mesh, n):
    for count in (1, 1000, 70_000, 1_500_000):
        whole = np.arange(n * count, dtype=np.float32).reshape(n, count) % 1024
        equal(mapped(lambda x: lax.psum(x, "i"), mesh, P("i"), whole)[0], whole.sum(0), f"psum of {count}")
        equal(mapped(lambda x: lax.all_gather(x, "i"), mesh, P("i"), whole).reshape(n, count), whole, f"all_gather of {count}")


def groups(n):
    """Rows and columns of a mesh, and groups of an axis: communicators of some of the processes."""
    mesh = Mesh(np.array(jax.devices()).reshape(2, n // 2), ("a", "b"))
    whole = np.arange(n * 2.0).reshape(2, n // 2, 2)
    row, column = divmod(jax.process_index(), n // 2)
    equal(mapped(lambda x: lax.psum(x, "a"), mesh, P("a", "b"), whole)[0, 0], whole.sum(0)[column], "psum of columns")
    equal(mapped(lambda x: lax.psum(x, "b"), mesh, P("a", "b"), whole)[0, 0], whole.sum(1)[row], "psum of rows")
    equal(mapped(lambda x: lax.psum(lax.psum(x, "a"), "b"), mesh, P("a", "b"), whole)[0, 0], whole.sum((0, 1)), "psum of both")


def step(mesh, n):
    """A step of training: gradients of a loss on sharded data, averaged by the compiler's own collectives."""
    rows = np.arange(n * 4 * 3, dtype=np.float32).reshape(n * 4, 3) % 7
    weights = np.ones((3, 2), np.float32)
    wanted = jax.grad(lambda w, x: ((x @ w) ** 2).sum())(weights, rows)
    data = spread(mesh, P("i"), rows)
    gradient = jax.jit(jax.grad(lambda w, x: ((x @ w) ** 2).sum()), out_shardings=NamedSharding(mesh, P()))(weights, data)
    equal(gradient.addressable_shards[0].data, wanted, "the gradient of a sum over all rows")


def main():
    n, me = jax.process_count(), jax.process_index()
    mesh = Mesh(np.array(jax.devices()), ("i",))
    reductions(mesh, n, me)
    moves(mesh, n, me)
    sizes(mesh, n)
    if n % 2 == 0:
        groups(n)
    step(mesh, n)
    if me == 0:
        print(f"{n} processes: {compared} results of each are right")


main()
