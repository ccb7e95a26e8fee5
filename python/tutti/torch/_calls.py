# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""The calls of a backend of torch.distributed, on a communicator of Tutti."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import torch
from torch._C._distributed_c10d import ReduceOp

from .. import _core, _plan
from .._communicator import Communicator
from .._memory import TYPES
from ..errors import InvalidArgument, Unsupported
from ._barrier import monitored_barrier
from ._post import Post
from ._work import Finisher, Together, Work, explained

_TYPES = {getattr(torch, name): number for name, number in TYPES.items() if hasattr(torch, name)}
_RED = ReduceOp.RedOpType
_OPS = {_RED.SUM: 0, _RED.PRODUCT: 1, _RED.MAX: 2, _RED.MIN: 3, _RED.AVG: 4, _RED.BAND: 6, _RED.BOR: 7, _RED.BXOR: 8}
_CALL = _core.Call


def type_of(tensor: torch.Tensor) -> int:
    """The library's number of a tensor's type, once it is one that can be exchanged."""
    number = _TYPES.get(tensor.dtype)
    if number is None:
        raise InvalidArgument(f"tutti: tensors of {tensor.dtype} cannot be exchanged; pass tensor.view(torch.uint8)")
    if tensor.device.type != "cpu":
        raise InvalidArgument(f"tutti: a tensor is on {tensor.device}, and this backend is for tensors on the CPU; make the group by "
                              'init_process_group("cpu:tutti,cuda:nccl")')
    if tensor.layout is not torch.strided:
        raise InvalidArgument("tutti: a sparse tensor can only be all-reduced; pass tensor.to_dense()")
    return number


def _op_of(op: Any, type_: int, tensor: torch.Tensor) -> tuple[int, float]:
    kind = op.op if isinstance(op, ReduceOp) else op
    if kind == _RED.PREMUL_SUM:
        factor = getattr(op, "factor", None)
        if factor is None:
            raise Unsupported("tutti: this version of torch does not tell backends the factor of PREMUL_SUM; multiply before a SUM")
        return _plan.PREMUL, float(factor)
    number = _OPS.get(kind)
    if number is None or not _core.defined(number, type_):
        raise InvalidArgument(f"tutti: {kind} is not defined for {tensor.dtype}; AVG needs numbers, MIN and MAX an order, BAND, BOR and BXOR "
                              "integers or bool")
    return number, 1.0


class _Out:
    """A tensor to write to, through a contiguous copy where it needs one."""

    __slots__ = ("tensor", "through")

    def __init__(self, tensor: torch.Tensor, fill: bool = False) -> None:
        self.tensor = tensor
        plain = tensor.is_contiguous() and not tensor.is_conj() and not tensor.is_neg()
        self.through = tensor if plain else tensor.contiguous() if fill else torch.empty(tensor.shape, dtype=tensor.dtype)

    def settle(self) -> None:
        if self.through is not self.tensor:
            self.tensor.copy_(self.through)


def _straight(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.is_complex() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    return tensor.contiguous()


# Torch's groups hold a backend by its C++ part alone; without its Python part the calls would be lost.
_alive: set[Any] = set()


class Calls:
    """Mixed into a Backend or a ProcessGroup. Threads: any; calls take turns."""

    _communicator: Communicator

    def _begin_calls(self, communicator: Communicator, store: Any, timeout: timedelta) -> None:
        self._communicator = communicator
        self._store = store
        self._timeout = timeout
        self._finisher = Finisher(f"tutti futures {communicator.name}")
        self._post = Post(communicator, store, timeout)
        self._sequence = 0
        self._barriers = 0
        self._together: list[Any] | None = None
        _alive.add(self)

    # ---- how calls run

    def _issue(self, calls: list[_core.Call], keep: Any, outputs: list[torch.Tensor], settle: Callable[[], None] | None,
               async_op: bool) -> Work | None:
        """Begins calls as one. Without async_op the caller would wait at once, so they are run here, and no work is returned."""
        self._sequence += 1
        c = self._communicator
        if not async_op and self._together is None:
            with explained(self):
                if len(calls) == 1:
                    c._run(calls[0])
                elif calls:
                    c._run_group(calls)
            if settle is not None:
                settle()
            return None
        request = None
        if calls:
            request = c._begin(calls[0], keep) if len(calls) == 1 else c._begin_group(calls, keep)
        work = Work(request, outputs, settle, self._finisher, self)
        if self._together is not None:
            self._together.append(work)
        return work

    def start_coalescing(self) -> None:
        self._together = []

    def end_coalescing(self) -> Any:
        works, self._together = self._together or [], None
        return Together(works)

    # ---- reductions

    def _reductions(self, kind: int, pairs: Sequence[tuple[torch.Tensor, torch.Tensor]], op: Any, root: int, async_op: bool) -> Any:
        """`pairs`: input and output of each; both are one tensor where it is done in place."""
        calls, keep, outs = [], [], []
        for source, target in pairs:
            type_ = type_of(target)
            number, factor = _op_of(op, type_, target)
            out = _Out(target, fill=source is target)
            from_ = out.through if source is target else _straight(source)
            calls.append(_CALL(kind, from_.data_ptr(), out.through.data_ptr(), out.through.numel(), type_, number, root, factor, None))
            keep.append((from_, out.through))
            outs.append(out)
        return self._issue(calls, keep, [out.tensor for out in outs], _settler(outs), async_op)

    def allreduce(self, tensors: list[torch.Tensor], opts: Any = None) -> Any:
        if tensors[0].is_sparse:
            return self.allreduce_sparse(tensors, opts)
        op = opts.reduceOp if opts is not None else _RED.SUM
        return self._reductions(_plan.ALL_REDUCE, [(t, t) for t in tensors], op, 0, opts is None or opts.asyncOp)

    def allreduce_coalesced(self, tensors: list[torch.Tensor], opts: Any = None) -> Any:
        return self.allreduce(tensors, opts)

    def allreduce_sparse(self, tensors: list[torch.Tensor], opts: Any = None) -> Any:
        """Sparse tensors: their entries are gathered and added."""
        for tensor in tensors:
            mine = tensor.coalesce()
            entries = self._communicator._numbers_of_all(mine._nnz())
            indices = self._gather_rows(mine.indices().t().contiguous(), entries)
            values = self._gather_rows(mine.values().contiguous(), entries)
            total = torch.sparse_coo_tensor(indices.t(), values, tensor.shape).coalesce()
            tensor.copy_(total)
        return _Done(tensors)

    def _gather_rows(self, mine: torch.Tensor, rows: Sequence[int]) -> torch.Tensor:
        return self._communicator._run_plan(_plan.gather_unequal(self.size(), self.rank(), mine, rows, None))

    def reduce(self, tensors: list[torch.Tensor], opts: Any) -> Any:
        return self._reductions(_plan.REDUCE, [(t, t) for t in tensors], opts.reduceOp, opts.rootRank, opts.asyncOp)

    def reduce_scatter(self, outputs: list[torch.Tensor], inputs: list[list[torch.Tensor]], opts: Any = None) -> Any:
        flats = [torch.cat([_straight(t).reshape(-1) for t in parts]) for parts in inputs]
        return self.reduce_scatter_single_coalesced(outputs, flats, opts)

    def reduce_scatter_single(self, output: torch.Tensor, input: torch.Tensor, opts: Any = None) -> Any:
        return self.reduce_scatter_single_coalesced([output], [input], opts)

    def reduce_scatter_single_coalesced(self, outputs: list[torch.Tensor], inputs: list[torch.Tensor], opts: Any = None) -> Any:
        for output, input_ in zip(outputs, inputs):
            _check_parts("reduce_scatter", input_, output, self.size())
        op = opts.reduceOp if opts is not None else _RED.SUM
        return self._reductions(_plan.REDUCE_SCATTER, list(zip(inputs, outputs)), op, 0, opts is None or opts.asyncOp)

    # ---- moves

    def broadcast(self, tensors: list[torch.Tensor], opts: Any) -> Any:
        outs = [_Out(t, fill=True) for t in tensors]
        calls = [_CALL(_plan.BROADCAST, o.through.data_ptr(), o.through.data_ptr(), o.through.numel(), type_of(o.tensor), 0, opts.rootRank)
                 for o in outs]
        return self._issue(calls, outs, tensors, _settler(outs), opts.asyncOp)

    def all_gather_single(self, output: torch.Tensor, input: torch.Tensor, opts: Any = None) -> Any:
        return self.all_gather_single_coalesced([output], [input], opts)

    def all_gather_single_coalesced(self, outputs: list[torch.Tensor], inputs: list[torch.Tensor], opts: Any = None) -> Any:
        calls, keep, outs = [], [], []
        for output, input_ in zip(outputs, inputs):
            _check_parts("all_gather", output, input_, self.size())
            out, from_ = _Out(output), _straight(input_)
            calls.append(_CALL(_plan.ALL_GATHER, from_.data_ptr(), out.through.data_ptr(), from_.numel(), type_of(output)))
            keep.append((from_, out.through))
            outs.append(out)
        return self._issue(calls, keep, outputs, _settler(outs), opts is None or opts.asyncOp)

    def allgather(self, outputs: list[list[torch.Tensor]], inputs: list[torch.Tensor], opts: Any = None) -> Any:
        calls, keep, places = [], [], []
        for parts, input_ in zip(outputs, inputs):
            if len(parts) != self.size():
                raise InvalidArgument(f"tutti: all_gather needs an output for each of {self.size()} ranks, not {len(parts)}")
            from_, type_ = _straight(input_), type_of(input_)
            if any(part.dtype != input_.dtype for part in parts):
                raise InvalidArgument("tutti: all_gather's outputs have other types than its input; all must have the same")
            if any(part.numel() != input_.numel() for part in parts):
                calls += self._unequal_gather(from_, type_, parts, keep, places)
                continue
            to, flat, copies = _together(parts, from_, self.rank())
            calls.append(_CALL(_plan.ALL_GATHER, from_.data_ptr(), to, from_.numel(), type_))
            keep.append((from_, flat))
            places += copies
        return self._issue(calls, keep, [t for parts in outputs for t in parts], _copier(places), opts is None or opts.asyncOp)

    def _unequal_gather(self, from_: torch.Tensor, type_: int, parts: list[torch.Tensor], keep: list[Any],
                        places: list[Any]) -> list[_core.Call]:
        """Sends and receives that go on together, for parts of unequal lengths."""
        calls = []
        for peer, part in enumerate(parts):
            out = _Out(part)
            if from_.numel() > 0:
                calls.append(_CALL(_plan.SEND, from_.data_ptr(), 0, from_.numel(), type_, 0, peer))
            if part.numel() > 0:
                calls.append(_CALL(_plan.RECV, 0, out.through.data_ptr(), part.numel(), type_, 0, peer))
            keep.append((from_, out.through))
            if out.through is not part:
                places.append((part, out.through))
        return calls

    def allgather_coalesced(self, outputs: list[list[torch.Tensor]], inputs: list[torch.Tensor], opts: Any = None) -> Any:
        """`outputs[r]`: what rank r's `inputs` become."""
        return self.allgather([[outputs[r][i] for r in range(self.size())] for i in range(len(inputs))], inputs, opts)

    def gather(self, outputs: list[list[torch.Tensor]], inputs: list[torch.Tensor], opts: Any) -> Any:
        from_ = _straight(inputs[0])
        type_ = type_of(from_)
        if self.rank() != opts.rootRank:
            calls = [_CALL(_plan.GATHER, from_.data_ptr(), 0, from_.numel(), type_, 0, opts.rootRank)]
            return self._issue(calls, from_, [], None, opts.asyncOp)
        parts = outputs[0]
        if len(parts) != self.size() or any(part.numel() != from_.numel() or part.dtype != from_.dtype for part in parts):
            raise InvalidArgument(f"tutti: gather needs an output like the input for each of {self.size()} ranks on the root")
        to, flat, copies = _together(parts, from_, self.rank())
        calls = [_CALL(_plan.GATHER, from_.data_ptr(), to, from_.numel(), type_, 0, opts.rootRank)]
        return self._issue(calls, (from_, flat), parts, _copier(copies), opts.asyncOp)

    def scatter(self, outputs: list[torch.Tensor], inputs: list[list[torch.Tensor]], opts: Any) -> Any:
        out = _Out(outputs[0])
        type_ = type_of(out.tensor)
        flat = None
        if self.rank() == opts.rootRank:
            parts = inputs[0]
            if len(parts) != self.size() or any(part.numel() != out.tensor.numel() or part.dtype != out.tensor.dtype for part in parts):
                raise InvalidArgument(f"tutti: scatter needs an input like the output for each of {self.size()} ranks on the root")
            flat = torch.cat([_straight(part).reshape(-1) for part in parts])
        calls = [_CALL(_plan.SCATTER, flat.data_ptr() if flat is not None else 0, out.through.data_ptr(), out.through.numel(), type_, 0,
                       opts.rootRank)]
        return self._issue(calls, (flat, out.through), outputs, _settler([out]), opts.asyncOp)

    def all_to_all_single(self, output: torch.Tensor, input: torch.Tensor, output_splits: Sequence[int], input_splits: Sequence[int],
                          opts: Any = None) -> Any:
        async_op = opts is None or opts.asyncOp
        out, from_, type_ = _Out(output), _straight(input), type_of(output)
        if output.dtype != input.dtype:
            raise InvalidArgument(f"tutti: all_to_all of {input.dtype} into {output.dtype}; both must have the same type")
        if not output_splits and not input_splits:
            if output.numel() != input.numel() or (input.dim() > 0 and input.size(0) % self.size() != 0):
                raise InvalidArgument(f"tutti: all_to_all of {list(input.shape)} into {list(output.shape)} without splits: both must have "
                                      f"the same length, a multiple of {self.size()}; or pass the splits")
            calls = [_CALL(_plan.ALL_TO_ALL, from_.data_ptr(), out.through.data_ptr(), from_.numel() // self.size(), type_)]
            return self._issue(calls, (from_, out.through), [output], _settler([out]), async_op)
        sends = _parts(from_, input_splits, self.size(), "input")
        receives = _parts(out.through, output_splits, self.size(), "output")
        return self._issue(self._exchange(sends, receives), (from_, out.through), [output], _settler([out]), async_op)

    def alltoall(self, outputs: list[torch.Tensor], inputs: list[torch.Tensor], opts: Any = None) -> Any:
        outs, froms = [_Out(t) for t in outputs], [_straight(t) for t in inputs]
        calls = self._exchange(froms, [o.through for o in outs])
        return self._issue(calls, (outs, froms), outputs, _settler(outs), opts is None or opts.asyncOp)

    def _exchange(self, sends: Sequence[torch.Tensor], receives: Sequence[torch.Tensor]) -> list[_core.Call]:
        calls = []
        for peer, (given, taken) in enumerate(zip(sends, receives)):
            if given.numel() > 0:
                calls.append(_CALL(_plan.SEND, given.data_ptr(), 0, given.numel(), type_of(given), 0, peer))
            if taken.numel() > 0:
                calls.append(_CALL(_plan.RECV, 0, taken.data_ptr(), taken.numel(), type_of(taken), 0, peer))
        return calls

    def barrier(self, opts: Any = None) -> Any:
        return self._issue([_CALL(_plan.BARRIER, 0, 0, 0, 1)], None, [], None, opts is None or getattr(opts, "asyncOp", True))

    def monitored_barrier(self, opts: Any, wait_all_ranks: bool = False) -> None:
        """Returns once all ranks have called it. Rank 0 raises an error that names those that have not within the timeout: the first, or all."""
        self._barriers += 1
        timeout = opts.timeout if opts.timeout.total_seconds() >= 0 else self._timeout
        monitored_barrier(self._store, f"tutti_barrier/{self._barriers}", self.rank(), self.size(), timeout, wait_all_ranks)

    # ---- messages

    def send(self, tensors: list[torch.Tensor], dst: int, tag: int = 0) -> Any:
        return self._coalesce(self._post.send(_straight(tensors[0]), type_of(tensors[0]), dst, tag))

    def recv(self, tensors: list[torch.Tensor], src: int, tag: int = 0) -> Any:
        return self._coalesce(self._post.recv(_Out(tensors[0]), type_of(tensors[0]), src, tag))

    def recv_anysource(self, tensors: list[torch.Tensor], tag: int = 0) -> Any:
        return self._coalesce(self._post.recv(_Out(tensors[0]), type_of(tensors[0]), None, tag))

    def _coalesce(self, work: Any) -> Any:
        if self._together is not None:
            self._together.append(work)
        return work

    # ---- life

    def _set_sequence_number_for_group(self) -> None:
        self._sequence = 0

    def _get_sequence_number_for_group(self) -> int:
        return self._sequence

    def set_timeout(self, timeout: timedelta) -> None:
        self._timeout = timeout
        self._post.timeout = timeout
        self._communicator._set_timeout(max(int(timeout.total_seconds() * 1000), 1))

    def _set_default_timeout(self, timeout: timedelta) -> None:
        self.set_timeout(timeout)

    def shutdown(self) -> None:
        self._post.close()
        self._communicator.close()
        _alive.discard(self)

    def abort(self) -> None:
        self._post.close()
        self._communicator.abort("torch.distributed aborted the group")
        self._communicator.close()
        _alive.discard(self)

    # Names of torch before 2.14.
    _allgather_base = all_gather_single
    allgather_into_tensor_coalesced = all_gather_single_coalesced
    all_gather_into_tensor_coalesced = all_gather_single_coalesced
    _reduce_scatter_base = reduce_scatter_single
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced
    alltoall_base = all_to_all_single
    _start_coalescing = start_coalescing
    _end_coalescing = end_coalescing


class _Done(Work):
    """A call that has ended before it returned."""

    def __init__(self, outputs: list[torch.Tensor]) -> None:
        super().__init__(None, outputs, None, None, None)  # type: ignore[arg-type]
        self._done = True


def _settler(outs: Sequence[_Out]) -> Callable[[], None] | None:
    indirect = [out for out in outs if out.through is not out.tensor]
    if not indirect:
        return None

    def settle() -> None:
        for out in indirect:
            out.settle()
    return settle


def _together(parts: Sequence[torch.Tensor], from_: torch.Tensor, rank: int) -> tuple[int, Any, list[tuple[torch.Tensor, torch.Tensor]]]:
    """Where the parts of all ranks may be written in a row, what to keep for that, and what is to be copied afterwards.

    That is the parts themselves where they lie so, as those of all_gather_object do, and `from_` is not in the way."""
    step = from_.numel() * from_.element_size()
    begin, own = parts[0].data_ptr(), from_.data_ptr()
    in_a_row = step > 0 and all(part.is_contiguous() and part.data_ptr() == begin + i * step for i, part in enumerate(parts))
    apart = own == begin + rank * step or own + step <= begin or begin + len(parts) * step <= own
    if in_a_row and apart and not any(part.is_conj() or part.is_neg() for part in parts):
        return begin, parts, []
    flat = torch.empty(from_.numel() * len(parts), dtype=from_.dtype)
    return flat.data_ptr(), flat, [(part, flat.narrow(0, i * from_.numel(), from_.numel()).view(part.shape)) for i, part in enumerate(parts)]


def _copier(places: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> Callable[[], None]:
    def copy() -> None:
        for place, from_ in places:
            place.copy_(from_)
    return copy


def _check_parts(what: str, whole: torch.Tensor, part: torch.Tensor, ranks: int) -> None:
    if whole.dtype != part.dtype:
        raise InvalidArgument(f"tutti: {what} between {part.dtype} and {whole.dtype}; both tensors must have the same type")
    if whole.numel() != part.numel() * ranks:
        raise InvalidArgument(f"tutti: {what} of {ranks} parts like {list(part.shape)} needs {part.numel() * ranks} elements in the other "
                              f"tensor, which is {list(whole.shape)}")


def _parts(tensor: torch.Tensor, splits: Sequence[int], ranks: int, what: str) -> list[torch.Tensor]:
    rows = tensor.size(0) if tensor.dim() > 0 else 0
    if not splits:
        if rows % ranks != 0:
            raise InvalidArgument(f"tutti: all_to_all's {what} has {rows} rows, which {ranks} ranks cannot share equally; pass its splits")
        splits = [rows // ranks] * ranks
    if len(splits) != ranks or sum(splits) != rows:
        raise InvalidArgument(f"tutti: all_to_all's {what} splits are {list(splits)}, for {ranks} ranks and {rows} rows")
    row = math.prod(tensor.shape[1:])
    flat, parts, at = tensor.reshape(-1), [], 0
    for n in splits:
        parts.append(flat.narrow(0, at * row, n * row))
        at += n
    return parts
