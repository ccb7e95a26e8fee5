# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""The backend of torch.distributed. PyTorch's own tests run by torch_suite.py; these are for what it lacks. Skipped without torch."""

import datetime
import tempfile
import time

import pytest

import tutti

torch = pytest.importorskip("torch")
dist = torch.distributed


def in_group(work, ranks=2, backend="tutti", seconds=60):
    """Runs work(rank, ranks) on so many ranks that have a process group."""
    folder = tempfile.mkdtemp()

    def rank_main(comm):
        torch.set_num_threads(1)
        import tutti.torch

        tutti.torch.register()
        dist.init_process_group(backend, init_method=f"file://{folder}/store", rank=comm.rank, world_size=comm.size,
                                timeout=datetime.timedelta(seconds=seconds))
        try:
            return work(comm.rank, comm.size)
        finally:
            dist.destroy_process_group()

    return tutti.run(rank_main, ranks, timeout=120)


TYPES = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64]


def test_sums_of_all_types():
    def work(rank, ranks):
        for dtype in TYPES:
            x = torch.tensor([1, 2, rank]).to(dtype)
            dist.all_reduce(x)
            assert x.tolist() == [2, 4, 1], (dtype, x)
        b = torch.tensor([True, False, rank == 1])
        dist.all_reduce(b)
        assert b.tolist() == [True, False, True]
        c = torch.tensor([1 + 2j, rank * 1j])
        dist.all_reduce(c)
        assert c.tolist() == [2 + 4j, 1j]
        for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
            x = torch.tensor([1.0, 2.0]).to(dtype)
            dist.all_reduce(x)
            assert x.to(torch.float32).tolist() == [2, 4]

    in_group(work)


def test_operators():
    op = dist.ReduceOp

    def work(rank, ranks):
        def reduced(values, how):
            x = torch.tensor(values)
            dist.all_reduce(x, op=how)
            return x.tolist()

        assert reduced([rank + 1.0, 4.0], op.AVG) == [1.5, 4.0]
        assert reduced([rank + 1, 4], op.PRODUCT) == [2, 16]
        assert reduced([rank, 4], op.MAX) == [1, 4]
        assert reduced([rank, 4], op.MIN) == [0, 4]
        assert reduced([6, 5 - rank], op.BAND) == [6, 4]
        assert reduced([rank, 4], op.BOR) == [1, 4]
        assert reduced([1, 4 + rank], op.BXOR) == [0, 1]
        with pytest.raises(RuntimeError, match="BAND is not defined for torch.float32"):
            reduced([1.0], op.BAND)
        out = torch.zeros(3)
        dist.reduce_scatter_single(out, torch.arange(6.0) * (rank + 1), op=op.AVG)
        assert out.tolist() == (torch.arange(6.0) * 1.5)[3 * rank:3 * rank + 3].tolist()

    in_group(work)


def test_odd_tensors():
    def work(rank, ranks):
        base = torch.arange(12.0).reshape(3, 4)
        for view in (base.t(), base[:, 1::2], base[1:]):
            mine = view.clone(memory_format=torch.preserve_format) if view.is_contiguous() else view
            want = (mine * 2).clone()
            dist.all_reduce(mine)
            assert torch.equal(mine, want)
            base = torch.arange(12.0).reshape(3, 4)
        empty = torch.empty(0, 5)
        dist.all_reduce(empty)
        dist.broadcast(empty, 0)
        outs = [torch.empty(0, 5) for _ in range(ranks)]
        dist.all_gather(outs, empty)
        scalar = torch.tensor(rank + 1)
        dist.all_reduce(scalar)
        assert scalar.item() == 3
        unequal = [torch.empty(r + 1) for r in range(ranks)]
        dist.all_gather(unequal, torch.full((rank + 1,), float(rank)))
        assert [t.tolist() for t in unequal] == [[float(r)] * (r + 1) for r in range(ranks)]

    in_group(work)


def test_outputs_in_a_row():
    """Parts that lie one behind the other are written at once; those that do not, or that the input lies across, are not."""
    def work(rank, ranks):
        want = [[float(r)] * 3 for r in range(ranks)]
        mine = torch.full((3,), float(rank))
        whole = torch.full((3 * ranks,), -1.0)
        parts = list(whole.split(3))
        dist.all_gather(parts, mine)
        assert [p.tolist() for p in parts] == want and whole.tolist() == sum(want, [])
        parts[rank].fill_(float(rank))
        dist.all_gather(parts, parts[rank])
        assert [p.tolist() for p in parts] == want
        whole = torch.full((3 * ranks + 1,), -1.0)
        across = whole[1:4].fill_(float(rank))  # neither apart from the outputs nor in its place
        dist.all_gather(list(whole[:-1].split(3)), across)
        assert whole.tolist() == sum(want, []) + [-1.0]
        whole = torch.full((6 * ranks,), -1.0)
        dist.all_gather([whole[6 * r:6 * r + 6:2] for r in range(ranks)], mine)
        assert whole[::2].tolist() == sum(want, []) and whole[1::2].tolist() == [-1.0] * (3 * ranks)
        whole = torch.full((3 * ranks,), -1.0)
        dist.gather(mine, list(whole.split(3)) if rank == 0 else None, 0)
        assert whole.tolist() == (sum(want, []) if rank == 0 else [-1.0] * (3 * ranks))

    in_group(work)


def test_unequal_splits():
    def work(rank, ranks):
        inputs = [rank + to for to in range(ranks)]
        outputs = [r + rank for r in range(ranks)]
        x = torch.cat([torch.full((n, 2), 10.0 * rank + to) for to, n in enumerate(inputs)])
        out = torch.empty(sum(outputs), 2)
        dist.all_to_all_single(out, x, outputs, inputs)
        assert torch.equal(out, torch.cat([torch.full((n, 2), 10.0 * r + rank) for r, n in enumerate(outputs)]))
        parts = [torch.empty(r + rank, 2) for r in range(ranks)]
        dist.all_to_all(parts, list(x.split(inputs)))
        assert torch.equal(torch.cat(parts), out)

    in_group(work, 3)


def test_messages_with_tags_and_from_anybody():
    def work(rank, ranks):
        if rank == 0:
            requests = [dist.isend(torch.full((50000,), float(t)), 1, tag=t) for t in range(8)]
            for r in requests:
                r.wait()
        elif rank == 1:
            got = {t: torch.empty(50000) for t in range(8)}
            requests = [dist.irecv(got[t], 0, tag=t) for t in reversed(range(8))]
            for r in requests:
                r.wait()
                assert r.is_completed()
            assert all(got[t][-1] == t for t in got)
        dist.barrier()
        if rank == 2:
            x = torch.zeros(3)
            assert sorted(dist.recv(x) for _ in range(2)) == [0, 1]
            work_ = dist.irecv(x, tag=7)
            dist.send(x, 0)
            work_.wait()
            assert work_._source_rank() == 1
        else:
            dist.send(torch.ones(3), 2)
            if rank == 0:
                dist.recv(torch.zeros(3), 2)
            else:
                dist.send(torch.ones(3), 2, tag=7)
        dist.barrier()  # rank 2 would take what follows for one of the two
        both = dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.full((9,), float(rank)), (rank + 1) % ranks),
                                       dist.P2POp(dist.irecv, got_ := torch.empty(9), (rank - 1) % ranks)])
        for w in both:
            w.wait()
        assert got_[0] == (rank - 1) % ranks

    in_group(work, 3)


def test_messages_go_on_while_a_collective_waits():
    """A receive that was begun takes its message while its rank is in a collective, which the sender enters after it has sent."""
    def work(rank, ranks):
        x = torch.full((1 << 20,), float(rank))
        if rank == 0:
            y = torch.empty(1 << 20)
            request = dist.irecv(y, 1)
            dist.barrier()
            request.wait()
            assert y[0] == 1
        else:
            time.sleep(0.1)
            dist.send(x, 0)
            dist.barrier()

    in_group(work)


def test_async_and_futures():
    def work(rank, ranks):
        tensors = [torch.full((1000,), float(i + rank)) for i in range(30)]
        works = [dist.all_reduce(t, async_op=True) for t in tensors]
        futures = [w.get_future().then(lambda f: f.value()[0].sum().item()) for w in works]
        assert [f.wait() for f in futures] == [1000.0 * (2 * i + 1) for i in range(30)]
        with dist._coalescing_manager():
            for t in tensors[:3]:
                dist.all_reduce(t)
        assert tensors[2][0] == 10

    in_group(work)


def test_a_late_rank_is_named():
    def work(rank, ranks):
        if rank == 0:
            with pytest.raises(tutti.Timeout, match="Timed out in a collective") as raised:
                dist.barrier()
            assert raised.value.peer == 1
        else:
            time.sleep(3)

    in_group(work, seconds=1)


def test_ddp_gives_the_same_as_one_process():
    def work(rank, ranks):
        from torch.nn.parallel import DistributedDataParallel

        torch.manual_seed(1)
        alone = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)).double()
        model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)).double())
        model.module.load_state_dict(alone.state_dict())
        data = torch.randn(ranks * 4, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
        for one, part in ((alone, data), (model, data[4 * rank:4 * rank + 4])):
            optimizer = torch.optim.SGD(one.parameters(), lr=0.1)
            for _ in range(5):
                optimizer.zero_grad()
                one(part).pow(2).mean().backward()
                optimizer.step()
        for a, b in zip(alone.parameters(), model.parameters()):
            assert torch.allclose(a, b, rtol=1e-12)

    in_group(work)


def test_fsdp2_trains_as_one_process():
    def work(rank, ranks):
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (ranks,))
        torch.manual_seed(1)
        alone = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)).double()
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)).double()
        model.load_state_dict(alone.state_dict())
        for layer in (model[0], model[2]):
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        data = torch.randn(ranks * 4, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
        for one, part in ((alone, data), (model, data[4 * rank:4 * rank + 4])):
            optimizer = torch.optim.SGD(one.parameters(), lr=0.1)
            for _ in range(3):
                optimizer.zero_grad()
                one(part).pow(2).mean().backward()
                optimizer.step()
        for a, b in zip(alone.parameters(), model.parameters()):
            assert torch.allclose(a, b.full_tensor(), rtol=1e-12)

    in_group(work)


def test_mesh_and_split_groups():
    def work(rank, ranks):
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.tensor import Shard, distribute_tensor

        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("a", "b"))
        x = torch.full((3,), float(rank))
        dist.all_reduce(x, group=mesh.get_group("b"))
        assert x[0] == 2 * rank + (1 if rank % 2 == 0 else -1)
        whole = torch.arange(16.0).reshape(4, 4)
        sharded = distribute_tensor(whole, mesh, [Shard(0), Shard(1)])
        assert torch.equal((sharded + 1).full_tensor(), whole + 1)
        groups = [dist.new_group([0, 1, 2]), dist.new_group([3, 1])]
        for members, group in zip(([0, 1, 2], [1, 3]), groups):
            if rank in members:
                y = torch.ones(2)
                dist.all_reduce(y, group=group)
                assert y[0] == len(members)

    in_group(work, 4)


def test_checkpoints_and_objects(tmp_path):
    def work(rank, ranks):
        import torch.distributed.checkpoint as dcp

        objects = [None] * ranks
        dist.all_gather_object(objects, {"rank": rank, "data": "x" * (rank * 100000)})
        assert [len(o["data"]) for o in objects] == [100000 * r for r in range(ranks)]
        state = {"mine": torch.full((10,), float(rank)), "step": 3}
        dcp.save({"app": {f"of_{rank}": state["mine"], "step": 3}}, checkpoint_id=str(tmp_path / "c"))
        loaded = {"app": {f"of_{rank}": torch.zeros(10), "step": 0}}
        dcp.load(loaded, checkpoint_id=str(tmp_path / "c"))
        assert loaded["app"][f"of_{rank}"][0] == rank

    in_group(work)


def test_results_have_the_same_bits_every_time():
    def work(rank, ranks):
        x = torch.randn(10007, generator=torch.Generator().manual_seed(rank))
        results = []
        for _ in range(5):
            y = x.clone()
            dist.all_reduce(y)
            results.append(y)
        return [r.numpy().tobytes() for r in results]

    said = in_group(work, 3)
    assert len({bits for rank in said for bits in rank}) == 1


def test_found_by_name():
    """By the entry point of an installed package; here only that the names exist."""
    import tutti.torch

    tutti.torch.register()
    tutti.torch.autoload()
    assert "TUTTI" in dist.Backend._plugins


