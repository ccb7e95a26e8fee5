# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""How ranks begin."""

import os
import pickle
import subprocess
import sys

import pytest

import tutti


def at_top(comm, a, b=0):
    return comm.rank + a + b


def without_arguments():
    comm = tutti.init()
    return comm.rank, comm.size, os.environ["RANK"], os.environ["LOCAL_WORLD_SIZE"]


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_run(start):
    assert tutti.run(at_top, 3, args=(10, 1), start=start, timeout=60) == [11, 12, 13]
    assert tutti.run(without_arguments, 2, start=start, timeout=60) == [(0, 2, "0", "2"), (1, 2, "1", "2")]


def test_run_within_run():
    def outer(comm):
        return tutti.run(lambda inner: inner.all_reduce(comm.rank + 1), 2, timeout=60)

    assert tutti.run(outer, 2, timeout=60) == [[2, 2], [4, 4]]


def test_run_kills_what_does_not_end():
    def work(comm):
        if comm.rank == 0:
            import time

            time.sleep(1000)

    with pytest.raises(tutti.RankError, match=r"ranks \[0\] have not ended within 1"):
        tutti.run(work, 2, timeout=1)


def test_errors_can_be_pickled():
    error = tutti.PeerLost("rank 2 died; look at its log", peer=2)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.peer, again.remedy) == (tutti.PeerLost, str(error), 2, "look at its log")


def test_launchers_variables():
    program = "import tutti; c = tutti.init(); print(c.rank, c.all_reduce(c.rank + 1)); c.close()"
    id_ = tutti.unique_id().hex()
    ranks = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "TUTTI_RANK": str(r), "TUTTI_RANKS": "2", "TUTTI_ID": id_}) for r in range(2)]
    assert [p.communicate(timeout=60)[0] for p in ranks] == ["0 3\n", "1 3\n"]


def test_demo():
    said = subprocess.run([sys.executable, "-m", "tutti", "demo", "--ranks", "2", "--largest", "4096"], capture_output=True, text=True, timeout=120)
    assert said.returncode == 0, said.stderr
    assert "4096" in said.stdout
    assert "every result was right" in said.stdout


def test_ids():
    id_ = tutti.unique_id()
    assert len(id_) == 128
    assert tutti.UniqueId.from_hex(id_.hex()) == id_
    with pytest.raises(tutti.InvalidArgument, match="ids have 128"):
        tutti.Communicator(0, 1, b"short")
    with pytest.raises(tutti.InvalidArgument, match="needs id="):
        tutti.Communicator(0, 2)
    with pytest.raises(tutti.InvalidArgument, match="need at least 1 rank"):
        tutti.Communicator(3, 2, id_)


def test_import_is_light():
    heavy = ("numpy", "torch", "jax", "asyncio", "multiprocessing", "ctypes", "typing", "re", "pickle", "threading", "inspect", "array")
    program = f"import sys; before = set(sys.modules); import tutti; print([m for m in {heavy} if m in set(sys.modules) - before])"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert said.stdout == "[]\n", said.stderr


def test_status_and_explain():
    def work(comm):
        import numpy as np

        status = comm.status()
        assert (status["rank"], status["size"], status["name"], status["broken"]) == (comm.rank, 2, "named", False)
        assert comm.explain("all_reduce", np.ones(4, "float32"))
        return repr(comm)

    assert tutti.run(work, 2, name="named", timeout=60) == [f"<tutti.Communicator 'named' rank {r} of 2>" for r in range(2)]
