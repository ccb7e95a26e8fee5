# Copyright 2026 The Tutti Authors
# SPDX-License-Identifier: Apache-2.0
"""Messages between two ranks as torch.distributed knows them: each independent of all others, with tags, and receives from any rank.

Operations of a communicator take place one after the other, so each direction between two ranks that ever exchange a message has a
communicator of its own, a channel: of two ranks, the first of which sends. A thread makes it when it is first needed; the ranks meet by the
group's store. A message is a header, its tag and length, and then its bytes. The receiver looks at the header, and takes the bytes to the first
receive that wants this tag, or keeps them until one does.
"""

from __future__ import annotations

import array
import threading
import time
from collections import deque
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from .. import _core, _plan
from .._communicator import Communicator, UniqueId, unique_id
from ..errors import Error, InvalidArgument, PeerLost

_INT64, _UINT8 = 4, 1
_SHARED_BYTES = 1 << 20  # of a channel's communicator
_SLICE_S = 0.05          # of waits that must look around
_GOODBYE = -1            # the tag of a channel's last header
_GOODBYE_S = 2.0         # how long the end of a group waits for it


class _Message(dist._Work):
    """A send or a receive. Threads: any."""

    def __init__(self, post: Post, tensor: torch.Tensor) -> None:
        super().__init__()
        self._post = post
        self._tensor = tensor
        self.done = threading.Event()
        self.error: BaseException | None = None
        self.source: int | None = None
        self._future: torch.futures.Future | None = None
        self._future_lock = threading.Lock()

    def end(self, error: BaseException | None = None) -> None:
        self.error = error
        with self._future_lock:
            self.done.set()
            future = self._future
        if future is not None:
            self._tell(future)

    def _tell(self, future: torch.futures.Future) -> None:
        if self.error is not None:
            future.set_exception(self.error)
        else:
            future.set_result([self._tensor])

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else float(timeout)
        limit = seconds if seconds > 0 else self._post.timeout.total_seconds()
        until = time.monotonic() + limit
        while not self.done.is_set():
            if time.monotonic() > until:
                raise RuntimeError(f"Timed out: {self} has not ended within {limit} s; the other rank has not called its part, or with another tag")
            self.move_on()
        if self.error is not None:
            raise self.error
        return True

    def move_on(self) -> None:
        raise NotImplementedError

    def synchronize(self) -> None:
        self.wait()

    def is_completed(self) -> bool:
        return self.done.is_set()

    def is_success(self) -> bool:
        return self.done.is_set() and self.error is None

    def exception(self) -> BaseException | None:
        return self.error

    def result(self) -> list[torch.Tensor]:
        self.wait()
        return [self._tensor]

    def source_rank(self) -> int:
        if self.source is None:
            raise RuntimeError("sourceRank() is known once a receive has ended")
        return self.source

    _source_rank = source_rank

    def get_future(self) -> torch.futures.Future:
        with self._future_lock:
            fresh = self._future is None
            if fresh:
                self._future = torch.futures.Future()
            ended = self.done.is_set()
        assert self._future is not None
        if fresh and ended:
            self._tell(self._future)
        self._post.keep_moving()
        return self._future


class _Send(_Message):
    def __init__(self, post: Post, tensor: torch.Tensor, channel: _Outgoing, tag: int) -> None:
        super().__init__(post, tensor)
        nbytes = tensor.numel() * tensor.element_size()
        self.header = array.array("q", [tag, nbytes])
        self.channel = channel
        self.request: _core.Request | None = None

    def __str__(self) -> str:
        return f"the send of {self.header[1]} bytes with tag {self.header[0]} to rank {self.channel.peer}"

    def begin(self, communicator: Communicator) -> None:
        """Its bytes follow its header. REQUIRES: the channel's lock."""
        keep = (self.header, self._tensor)
        head = communicator._begin(_core.Call(_plan.SEND, self.header.buffer_info()[0], 0, 2, _INT64, 0, 1), keep)
        self.request = head
        if self.header[1] > 0:
            call = _core.Call(_plan.SEND, self._tensor.data_ptr(), 0, self.header[1], _UINT8, 0, 1)
            self.request = communicator._begin(call, keep)

    def move_on(self) -> None:
        request = self.request
        if request is None:
            self.channel.ready.wait(_SLICE_S)
            return
        try:
            if request._wait(_SLICE_S):
                self.end()
        except Error as error:
            self.end(error)

    def is_completed(self) -> bool:
        if not self.done.is_set() and self.request is not None:
            try:
                if self.request.test():
                    self.end()
            except Error as error:
                self.end(error)
        return self.done.is_set()


class _Receive(_Message):
    def __init__(self, post: Post, out: Any, peer: int | None, tag: int) -> None:
        super().__init__(post, out.tensor)
        self.out = out
        self.peer = peer
        self.tag = tag
        self.nbytes = out.through.numel() * out.through.element_size()
        self.claimed = False  # a channel has a message for it

    def __str__(self) -> str:
        whom = "any rank" if self.peer is None else f"rank {self.peer}"
        return f"the receive of {self.nbytes} bytes with tag {self.tag} from {whom}"

    def move_on(self) -> None:
        self._post.move_on(None if self.peer is None else self.peer)

    def is_completed(self) -> bool:
        if not self.done.is_set():
            self._post.look(self.peer)
        return self.done.is_set()


class _Channel:
    """One direction between this rank and another, once its communicator is made."""

    def __init__(self, post: Post, peer: int) -> None:
        self.post = post
        self.peer = peer
        self.lock = threading.RLock()
        self.ready = threading.Event()
        self.communicator: Communicator | None = None
        self.error: BaseException | None = None
        threading.Thread(target=self._make, name=f"tutti channel with rank {peer}", daemon=True).start()

    def _make(self) -> None:
        try:
            made = self.meet()
            with self.lock:
                self.communicator = made
                if made is not None:
                    self.begin()
        except BaseException as error:  # noqa: BLE001 - told to those who wait
            with self.lock:
                self.error = error
                self.fail(error)
        self.ready.set()

    def meet(self) -> Communicator | None:
        raise NotImplementedError

    def begin(self) -> None:
        raise NotImplementedError

    def fail(self, error: BaseException) -> None:
        raise NotImplementedError


class _Outgoing(_Channel):
    def __init__(self, post: Post, peer: int) -> None:
        self.waiting: deque[_Send] = deque()  # until the communicator is there
        super().__init__(post, peer)

    def meet(self) -> Communicator:
        id_ = unique_id()
        self.post.store.set(self.post.key(self.post.rank, self.peer), id_.hex())
        return self.post.make(0, id_, self.peer)

    def begin(self) -> None:
        assert self.communicator is not None
        while self.waiting:
            self.waiting.popleft().begin(self.communicator)

    def fail(self, error: BaseException) -> None:
        while self.waiting:
            self.waiting.popleft().end(error)

    def leave(self) -> None:
        if self.communicator is None or self.communicator.closed:
            return
        if not self.communicator.broken:
            header = array.array("q", [_GOODBYE, 0])
            call = _core.Call(_plan.SEND, header.buffer_info()[0], 0, 2, _INT64, 0, 1)
            self.communicator._begin(call, header)._wait(_GOODBYE_S)
        self.communicator.close()

    def send(self, message: _Send) -> None:
        with self.lock:
            if self.error is not None:
                message.end(self.error)
            elif self.communicator is None:
                self.waiting.append(message)
            else:
                message.begin(self.communicator)


class _Incoming(_Channel):
    def __init__(self, post: Post, peer: int) -> None:
        self.header = array.array("q", [0, 0])
        self.request: _core.Request | None = None
        self.payload: bytearray | None = None   # of a message that nobody has asked for yet
        self.receive: _Receive | None = None    # whose bytes are on their way
        self.in_payload = False
        self.gone = False  # the sender has left
        self.kept: deque[tuple[int, bytearray]] = deque()  # tag and bytes
        super().__init__(post, peer)

    def meet(self) -> Communicator | None:
        key, nap = self.post.key(self.peer, self.post.rank), 0.0002
        while not self.post.closed:
            if self.post.store.check([key]):
                return self.post.make(1, UniqueId.from_hex(bytes(self.post.store.get(key)).decode()), self.peer)
            time.sleep(nap)
            nap = min(nap * 1.5, 0.01)
        return None

    def begin(self) -> None:
        """Awaits the next header."""
        assert self.communicator is not None
        self.in_payload = False
        call = _core.Call(_plan.RECV, 0, self.header.buffer_info()[0], 2, _INT64, 0, 0)
        self.request = self.communicator._begin(call, self.header)

    def leave(self) -> None:
        """Awaits the sender's goodbye, since a message that nobody reads would be taken for an error of the program."""
        if self.communicator is None or self.communicator.closed:
            return
        until = time.monotonic() + _GOODBYE_S
        while not self.gone and not self.communicator.broken and self.request is not None and time.monotonic() < until:
            try:
                self.request._wait(_SLICE_S)
            except Error:
                break
            self.look()
        if not self.gone:
            self.communicator.abort("its group was destroyed")
        self.communicator.close()

    def fail(self, error: BaseException) -> None:
        self.request = None
        if self.receive is not None:
            self.receive.end(error)
        self.post.fail_receives(self.peer, error)

    def look(self) -> bool:
        """Moves on as far as messages have come; whether something has changed."""
        moved = False
        with self.lock:
            try:
                while self.request is not None and self.request.test():
                    moved = True
                    if self.in_payload:
                        self._take_payload()
                    else:
                        self._take_header()
            except Exception as error:  # noqa: BLE001 - told to those who wait
                if self.error is None:
                    self.error = error
                    self.fail(error)
                moved = True
        return moved

    def _take_header(self) -> None:
        tag, nbytes = self.header
        if tag == _GOODBYE:
            self.gone, self.request = True, None
            self.post.fail_receives(self.peer, _has_left(self.peer))
            return
        receive = self.post.claim(self.peer, tag)
        if receive is not None and receive.nbytes != nbytes:
            receive.end(_wrong_length(receive, self.peer, nbytes))
            receive = None
        self.receive = receive
        self.payload = bytearray(nbytes) if receive is None else None
        self.in_payload = True
        if nbytes == 0:
            self._take_payload()
            return
        target = receive.out.through.data_ptr() if receive is not None else _core.describe_buffer(self.payload)[0]
        keep = receive.out.through if receive is not None else memoryview(self.payload)
        assert self.communicator is not None
        self.request = self.communicator._begin(_core.Call(_plan.RECV, 0, target, nbytes, _UINT8, 0, 0), keep)

    def _take_payload(self) -> None:
        receive, payload, tag = self.receive, self.payload, self.header[0]
        self.receive = self.payload = None
        self.begin()
        if receive is not None:
            receive.out.settle()
            receive.source = self.peer
            receive.end()
        elif payload is not None:
            late = self.post.claim(self.peer, tag)  # it may have been asked for meanwhile
            if late is not None:
                _deliver(late, self.peer, payload)
            else:
                self.kept.append((tag, payload))

    def take_kept(self, receive: _Receive) -> bool:
        """REQUIRES: the lock."""
        for i, (tag, payload) in enumerate(self.kept):
            if tag == receive.tag:
                del self.kept[i]
                _deliver(receive, self.peer, payload)
                return True
        return False


def _has_left(peer: int) -> Error:
    return PeerLost(f"tutti: rank {peer} has destroyed the group, and will send no more messages; every rank must make its calls before it leaves",
                    peer=peer)


def _wrong_length(receive: _Receive, peer: int, nbytes: int) -> Error:
    return InvalidArgument(f"tutti: rank {peer} has sent {nbytes} bytes with tag {receive.tag} to a receive of {receive.nbytes} bytes; both ranks "
                           "must pass tensors of the same length and type", peer=peer)


def _deliver(receive: _Receive, peer: int, payload: bytearray) -> None:
    if receive.nbytes != len(payload):
        receive.end(_wrong_length(receive, peer, len(payload)))
        return
    if payload:
        place = receive.out.through.reshape(-1).view(torch.uint8)
        place.copy_(torch.frombuffer(payload, dtype=torch.uint8))
    receive.out.settle()
    receive.source = peer
    receive.end()


class Post:
    """All messages of one rank of a group."""

    def __init__(self, communicator: Communicator, store: Any, timeout: timedelta) -> None:
        self.rank = communicator.rank
        self.ranks = communicator.size
        self.name = communicator.name
        self.store = store
        self.timeout = timeout
        self.closed = False
        self._lock = threading.RLock()
        self._outgoing: dict[int, _Outgoing] = {}
        self._incoming: dict[int, _Incoming] = {}
        self._receives: list[_Receive] = []  # in the order of their calls, until a message is for them
        self._mover: threading.Thread | None = None
        self._open = 0

    def key(self, source: int, destination: int) -> str:
        return f"tutti_channel/{source}/{destination}"

    def make(self, rank: int, id_: UniqueId, peer: int) -> Communicator:
        seconds = max(self.timeout.total_seconds(), 0.001)
        return Communicator(rank, 2, id_, name=f"{self.name} messages with rank {peer}", timeout=seconds, init_timeout=seconds,
                            shared_bytes=_SHARED_BYTES)

    # ---- calls

    def send(self, tensor: torch.Tensor, type_: int, peer: int, tag: int) -> _Send:
        with self._lock:
            channel = self._outgoing.get(peer)
            if channel is None:
                channel = self._outgoing[peer] = _Outgoing(self, peer)
        message = _Send(self, tensor, channel, tag)
        channel.send(message)
        return message

    def recv(self, out: Any, type_: int, peer: int | None, tag: int) -> _Receive:
        receive = _Receive(self, out, peer, tag)
        for channel in self._channels(peer):
            with channel.lock:
                if channel.error is not None and peer is not None:
                    receive.end(channel.error)
                    return receive
                if channel.take_kept(receive):
                    return receive
        with self._lock:
            self._receives.append(receive)
        self.look(peer)
        if not receive.done.is_set():
            self.keep_moving()
        return receive

    # ---- what channels ask

    def claim(self, source: int, tag: int) -> _Receive | None:
        """The first receive that wants such a message."""
        with self._lock:
            for i, receive in enumerate(self._receives):
                if receive.tag == tag and receive.peer in (None, source):
                    del self._receives[i]
                    return receive
        return None

    def fail_receives(self, source: int, error: BaseException) -> None:
        with self._lock:
            failed = [r for r in self._receives if r.peer == source]
            self._receives = [r for r in self._receives if r.peer != source]
        for receive in failed:
            receive.end(error)

    # ---- moving on

    def _channels(self, peer: int | None) -> list[_Incoming]:
        with self._lock:
            peers = [peer] if peer is not None else [r for r in range(self.ranks) if r != self.rank]
            for p in peers:
                if p not in self._incoming:
                    self._incoming[p] = _Incoming(self, p)
            return [self._incoming[p] for p in peers]

    def look(self, peer: int | None) -> bool:
        return any([channel.look() for channel in self._channels(peer)])

    def move_on(self, peer: int | None) -> None:
        """Waits a little for what may end a receive."""
        channels = self._channels(peer)
        if any([channel.look() for channel in channels]):
            return
        if len(channels) == 1:
            channel = channels[0]
            if not channel.ready.is_set():
                channel.ready.wait(_SLICE_S)
                return
            request = channel.request
            if request is not None:
                try:
                    request._wait(_SLICE_S)
                except Error:
                    pass  # look raises it where it belongs
                channel.look()
                return
        time.sleep(0.0001)

    def keep_moving(self) -> None:
        """A thread moves on what nobody waits for: receives that were begun, and futures."""
        with self._lock:
            if self._mover is None or not self._mover.is_alive():
                self._mover = threading.Thread(target=self._move, name="tutti messages", daemon=True)
                self._mover.start()

    def _move(self) -> None:
        nap, idle_since = 0.0002, time.monotonic()
        while not self.closed:
            with self._lock:
                incoming = list(self._incoming.values())
                busy = bool(self._receives) or any(c.receive is not None for c in incoming)
            if any([channel.look() for channel in incoming]):
                nap = 0.0002
            now = time.monotonic()
            if busy:
                idle_since = now
            elif now - idle_since > 1.0:
                with self._lock:
                    if not self._receives:
                        self._mover = None
                        return
            time.sleep(nap)
            nap = min(nap * 1.3, 0.002)

    def close(self) -> None:
        """Leaves all channels. What still runs ends with an error."""
        self.closed = True
        for channel in [*self._outgoing.values(), *self._incoming.values()]:
            try:
                channel.leave()
            except Exception:  # noqa: BLE001 - the group ends in any case
                pass
