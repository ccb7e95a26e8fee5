# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""JAX's collectives between processes on CPUs over Tutti.

    import tutti.jax               # before jax
    import jax
    jax.distributed.initialize()   # under `tutti run -n 4 python program.py` it needs no arguments

jaxlib loads an MPI from a library that MPITRAMPOLINE_LIB names; here that is Tutti's libtutti_mpitrampoline.so, which has the part of MPI
that JAX calls. Importing this module sets that variable and JAX_CPU_COLLECTIVES_IMPLEMENTATION=mpi, unless they are set. Each process
has one device. docs/jax.md has the rest.

    eval "$(python -m tutti.jax)"  # sets the variables in a shell, for programs that shall not be changed
"""

from __future__ import annotations

import functools
import os
import shlex
import socket
import sys
import warnings
from typing import Any

LIBRARY_VARIABLE, CHOICE_VARIABLE = "MPITRAMPOLINE_LIB", "JAX_CPU_COLLECTIVES_IMPLEMENTATION"
_NAME = "libtutti_mpitrampoline.so"
_WAIT_MS = 300_000  # for the other processes to say what they must


def library() -> str:
    """The path of Tutti's library for jaxlib. Raises ImportError where it is not installed."""
    here = os.path.dirname(os.path.abspath(__file__))
    places = [here, os.path.join(sys.prefix, "lib", "tutti")]
    for place in places:
        path = os.path.join(place, _NAME)
        if os.path.exists(path):
            return path
    raise ImportError(f"{_NAME} is in none of {', '.join(places)}: install Tutti's Python package anew, or name the library with "
                      f"{LIBRARY_VARIABLE}=/path/to/{_NAME}")


def _wanted() -> dict[str, str]:
    return {LIBRARY_VARIABLE: os.environ.get(LIBRARY_VARIABLE) or library(), CHOICE_VARIABLE: "mpi"}


def _set_variables() -> None:
    """jaxlib reads the first one while it is loaded, so afterwards it is too late."""
    if "jaxlib" in sys.modules and not os.environ.get(LIBRARY_VARIABLE):
        raise ImportError("jaxlib has been imported before tutti.jax, and has looked for an MPI already: put `import tutti.jax` before "
                          f"`import jax`, or set {LIBRARY_VARIABLE} before Python starts (eval \"$(python -m tutti.jax)\")")
    for name, value in _wanted().items():
        before = os.environ.setdefault(name, value)
        if name == CHOICE_VARIABLE and before != value:
            warnings.warn(f"{name}={before} is set, so JAX does not use Tutti; unset it, or set it to {value}", stacklevel=3)


def _free_port() -> int:
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


def _coordinator(port: str | None) -> str:
    """Where process 0 shall listen, as all processes agree: its host, and a port that is free there."""
    import tutti

    with tutti.init(name="jax coordinator") as comm:
        hosts = comm.all_gather_object(os.environ.get("NCCL_HOSTID") or socket.gethostname())
        address = "127.0.0.1" if len(set(hosts)) == 1 else os.environ.get("MASTER_ADDR") or socket.getfqdn()
        return comm.broadcast_object(f"{address}:{port or _free_port()}", root=0)


def _add_cluster() -> None:
    """For jax.distributed.initialize() without arguments. First in JAX's list: within a Slurm job `tutti run` says more than Slurm."""
    from jax._src import clusters

    def number(*names: str) -> int | None:
        return next((int(os.environ[name]) for name in names if os.environ.get(name, "").isdigit()), None)

    class TuttiCluster(clusters.ClusterEnv):
        """`tutti run`, torchrun, or whoever sets their variables."""

        name = "tutti"

        @classmethod
        def is_env_present(cls) -> bool:
            return number("TUTTI_RANK") is not None or None not in (number("RANK"), number("WORLD_SIZE"))

        @classmethod
        def get_coordinator_address(cls, timeout_secs: int | None = None, override_coordinator_port: str | None = None) -> str:
            return _coordinator(override_coordinator_port)

        @classmethod
        def get_process_count(cls) -> int:
            return number("TUTTI_RANKS", "WORLD_SIZE") or 1

        @classmethod
        def get_process_id(cls) -> int:
            return number("TUTTI_RANK", "RANK") or 0

        @classmethod
        def get_local_process_id(cls) -> int | None:
            return number("LOCAL_RANK")

    types = clusters.ClusterEnv._cluster_types
    types.remove(TuttiCluster)
    types.insert(0, TuttiCluster)


def _tell_ranks(state: Any) -> None:
    """Tells Tutti who this process is, where its launcher does not say what JAX was told: process 0 makes an id, JAX's coordinator passes
    it on."""
    import tutti

    ranks, rank = str(state.num_processes), str(state.process_id)
    if state.num_processes == 1 or (os.environ.get("TUTTI_RANK"), os.environ.get("TUTTI_RANKS")) == (rank, ranks):
        return
    if state.process_id == 0:
        state.client.key_value_set("tutti/id", bytes(tutti.unique_id()).hex())
    os.environ.update(TUTTI_RANK=rank, TUTTI_RANKS=ranks, TUTTI_ID=state.client.blocking_key_value_get("tutti/id", _WAIT_MS))


def _follow_initialize() -> None:
    from jax._src import distributed

    initialize = distributed.State.initialize

    @functools.wraps(initialize)
    def and_tell(self: Any, *args: Any, **options: Any) -> None:
        initialize(self, *args, **options)
        _tell_ranks(self)

    distributed.State.initialize = and_tell


if __name__ == "__main__":
    for _name, _value in _wanted().items():
        print(f"export {_name}={shlex.quote(_value)}")
else:
    _set_variables()
    _add_cluster()
    _follow_initialize()
