# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, and that everybody hears of it in words that help."""

import inspect
import os
import signal
import threading
import time

import numpy as np
import pytest

import tutti


def test_a_rank_that_raises():
    def work(comm):
        if comm.rank == 1:
            raise KeyError("bad luck")
        comm.barrier()

    with pytest.raises(tutti.RankError, match="rank 1 of 3 has failed") as raised:
        tutti.run(work, 3, timeout=60)
    assert raised.value.peer == 1
    assert isinstance(raised.value.__cause__, KeyError)


def test_a_rank_that_dies():
    def work(comm):
        if comm.rank == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            comm.all_reduce(np.ones(10))
        except tutti.PeerLost as error:
            assert error.peer == 2, error
            assert error.code == "remote"
            assert comm.broken
            assert str(error) in comm.last_error
            with pytest.raises(tutti.PeerLost):
                comm.barrier()
            smaller = comm.shrink([2])
            return smaller.all_reduce(1)

    with pytest.raises(tutti.RankError, match="rank 2 of 3 has failed:\nits process was ended by signal 9"):
        tutti.run(work, 3, timeout=60)


def test_calls_that_do_not_match():
    def work(comm):
        comm.barrier()
        x = np.ones(100, "float32")
        line = inspect.currentframe().f_lineno
        try:
            if comm.rank == 1:
                comm.all_gather(x)
            else:
                comm.all_reduce(x, out=x)
        except tutti.Mismatch as error:
            return str(error), error.calls, line, type(error).__name__
        return None

    said = tutti.run(work, 2, timeout=60)
    for text, calls, line, name in said:
        assert "rank 1 called all_gather(count 100, float32) as its operation 2 where rank 0 called all_reduce" in text
        assert calls == {0: f"{__file__}:{line + 5}", 1: f"{__file__}:{line + 3}"}
        assert f"rank 0: {__file__}:{line + 5}" in text


def test_timeout_names_who_is_late():
    def work(rank, id_, answers):
        comm = tutti.Communicator(rank, 2, id_, timeout=0.3)
        if rank == 1:
            time.sleep(1.5)
            answers.append(None)
            return
        try:
            comm.barrier()
        except tutti.Timeout as error:
            answers.append(error)

    answers = []
    id_ = tutti.unique_id()
    threads = [threading.Thread(target=work, args=(r, id_, answers)) for r in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    error = next(a for a in answers if a is not None)
    assert error.peer == 1
    assert "TUTTI_TIMEOUT_MS" in error.remedy
    assert isinstance(error, TimeoutError)


def test_ranks_that_do_not_come():
    with pytest.raises(tutti.Timeout, match="rank"):
        tutti.Communicator(0, 2, tutti.unique_id(), init_timeout=0.3)


def test_wait_with_a_limit():
    def work(comm):
        if comm.rank == 1:
            time.sleep(0.5)
        request = comm.start.all_reduce(np.ones(3))
        if comm.rank == 0:
            with pytest.raises(tutti.Timeout, match="it still runs"):
                request.wait(timeout=0.05)
            with pytest.raises(tutti.InvalidUsage, match="still runs"):
                if not request.test():
                    request.result
                else:  # the machine was so slow that rank 1 has come
                    raise tutti.InvalidUsage("still runs")
        assert request.wait()[0] == 2

    tutti.run(work, 2, timeout=60)


@pytest.mark.parametrize("what", ["call", "request", "init"])
def test_ctrl_c_ends_a_wait(what):
    def work(comm):
        if comm.rank == 1:
            try:
                time.sleep(1)
                if what == "call":
                    comm.all_reduce(1)  # rank 0 may have given its part before it was interrupted
                    comm.barrier()
            except tutti.PeerLost as error:
                return str(error)
            return None
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored, where the tests run in the background of a shell
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        begin = time.monotonic()
        try:
            if what == "call":
                comm.all_reduce(1)
            elif what == "request":
                request = comm.start.recv(np.empty(3), source=1)
                request.wait()
            else:
                tutti.Communicator(0, 2, tutti.unique_id())
        except KeyboardInterrupt:
            assert comm.broken == (what == "call")
            if what == "request":
                comm.abort("test")
            return time.monotonic() - begin
        raise AssertionError("no KeyboardInterrupt")

    said = tutti.run(work, 2, timeout=60)
    assert said[0] < 20
    if what == "call":
        assert "rank 0" in said[1]


def test_threads_share_a_communicator():
    """While one thread waits for a message, another sends what that message waits for."""
    def work(comm):
        got = np.zeros(1)
        if comm.rank == 0:
            twin = comm.dup()
            waiter = threading.Thread(target=lambda: twin.recv(got, source=1))
            waiter.start()
            time.sleep(0.2)
            comm.send(np.ones(1), to=1)
            waiter.join()
            assert got[0] == 2
        else:
            twin = comm.dup()
            comm.recv(got, source=0)
            twin.send(got * 2, to=0)

    tutti.run(work, 2, timeout=60)


def test_the_gil_is_free_while_a_call_waits():
    def work(comm):
        if comm.rank == 1:
            time.sleep(0.5)
            comm.barrier()
            return 0
        turns = [0]
        stop = threading.Event()

        def count():
            while not stop.is_set():
                turns[0] += 1
                time.sleep(0.001)

        counter = threading.Thread(target=count)
        counter.start()
        comm.barrier()
        stop.set()
        counter.join()
        return turns[0]

    assert tutti.run(work, 2, timeout=60)[0] > 10


def test_a_forked_child_cannot_use_it():
    def work(comm):
        pid = os.fork()
        if pid == 0:
            try:
                comm.barrier()
                os._exit(1)
            except tutti.InvalidUsage as error:
                os._exit(0 if "made by the process that this one was forked from" in str(error) else 2)
        assert os.waitpid(pid, 0)[1] == 0
        assert comm.all_reduce(1) == 2

    tutti.run(work, 2, timeout=60)


def test_closed():
    comm = tutti.init()
    assert (comm.rank, comm.size) == (0, 1)
    assert comm.all_reduce(5) == 5
    comm.close()
    comm.close()
    assert comm.closed
    with pytest.raises(tutti.InvalidUsage, match="has left this communicator"):
        comm.barrier()


def test_a_dropped_request_keeps_its_arrays():
    def work(comm):
        for i in range(200):
            comm.start.all_reduce(np.full(10000, float(i)))
        assert comm.all_reduce(1) == 2

    tutti.run(work, 2, timeout=60)
