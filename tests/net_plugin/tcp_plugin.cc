// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// TCP as a network plugin of the version TUTTI_FACE: what a plugin is to its host, over real sockets. It listens at the address of
// TUTTI_TEST_PLUGIN_ADDRESS, or 127.0.0.1.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "sys/net/tcp.h"
#include "tests/net_plugin/faces.h"

namespace tutti::tests {
namespace {

constexpr std::uint64_t kMagic = 0x7475747469746370;

struct Connecting {
  sys::Fd socket;
};
// What lies in the 128 bytes of a handle.
struct Address {
  std::uint64_t magic;
  sys::EndpointBytes endpoint;
  Connecting* state;  // of a call that is on its way
};
static_assert(sizeof(Address) <= abi::kHandleBytes);

struct MessageHeader {
  std::uint64_t bytes;
  std::int32_t tag;
  std::uint32_t zero = 0;
};

struct Socket;
struct Request {
  Socket* comm;
  MessageHeader header;
  std::byte* data;
  std::size_t moved = 0;  // of header and data
  bool ended = false;
};
struct Memory {
  const std::byte* begin;
  std::size_t bytes;
};
struct Socket {
  sys::TcpConnection connection;
  bool receives = false;
  MessageHeader incoming{};                       // of the message that is under way
  std::deque<std::unique_ptr<Request>> requests;  // oldest first; those that have ended stay until they are tested
  std::set<Memory*> memory;
  abi::Result broken = abi::kSuccess;

  bool Holds(const void* data, std::size_t bytes, void* handle) const {
    auto* m = static_cast<Memory*>(handle);
    if (!memory.contains(m)) return false;
    const auto* at = static_cast<const std::byte*>(data);
    return at >= m->begin && at + bytes <= m->begin + m->bytes;
  }
};

abi::Result ResultOf(const Status& status) {
  if (status.ok()) return abi::kSuccess;
  return status.code() == Code::kRemote ? abi::kRemoteError : abi::kSystemError;
}

struct Tcp {
  static abi::Result Init(void** context, std::uint64_t communicator, abi::Log log) {
    if (log == nullptr) return abi::kInvalidArgument;
    log(3, 0x11, __FILE__, __LINE__, "a TCP of tests begins, for communicator %llx",
        static_cast<unsigned long long>(communicator));
    *context = new int(0);
    return abi::kSuccess;
  }
  static abi::Result Finalize(void* context) {
    delete static_cast<int*>(context);
    return abi::kSuccess;
  }
  static abi::Result Devices(int* count) {
    *count = 1;
    return abi::kSuccess;
  }
  static abi::Result Describe(int device, abi::Properties<12>* p) {
    if (device != 0) return abi::kInvalidArgument;
    p->name = "tests0", p->ptrSupport = abi::kHostPointers, p->speed = 10000, p->maxComms = 65536, p->maxRecvs = 1;
    p->maxP2pBytes = std::size_t{1} << 30, p->maxCollBytes = std::size_t{1} << 30;
    p->railId = p->planeId = -1;
    return abi::kSuccess;
  }

  static abi::Result Listen(void*, int device, void* handle, void** comm) {
    if (device != 0) return abi::kInvalidArgument;
    const char* text = std::getenv("TUTTI_TEST_PLUGIN_ADDRESS");
    const Result<sys::IpAddress> address = sys::IpAddress::Parse(text != nullptr ? text : "127.0.0.1");
    if (!address.ok()) return abi::kInvalidArgument;
    Result<sys::TcpListener> listener = sys::TcpListener::Open({.addresses = {*address}});
    if (!listener.ok()) return ResultOf(listener.status());
    const Address at{.magic = kMagic, .endpoint = sys::ToBytes(listener->endpoints().front()), .state = nullptr};
    std::memset(handle, 0, abi::kHandleBytes);
    std::memcpy(handle, &at, sizeof(at));
    *comm = new sys::TcpListener(std::move(*listener));
    return abi::kSuccess;
  }

  static abi::Result Connect(void*, int device, void* handle, void** comm) {
    auto* at = static_cast<Address*>(handle);
    *comm = nullptr;
    if (device != 0 || at->magic != kMagic) return abi::kInvalidArgument;
    const sys::Endpoint to = sys::EndpointFromBytes(at->endpoint);
    if (at->state == nullptr) {
      Result<sys::Fd> socket = sys::StartConnect(to);
      if (!socket.ok()) return ResultOf(socket.status());
      at->state = new Connecting{std::move(*socket)};
      return abi::kSuccess;
    }
    Result<sys::TcpConnection> connection = sys::FinishConnect(at->state->socket, to);
    if (!connection.ok() && connection.status().code() == Code::kInProgress) return abi::kSuccess;
    delete std::exchange(at->state, nullptr);
    if (!connection.ok()) return abi::kRemoteError;
    *comm = new Socket{.connection = std::move(*connection)};
    return abi::kSuccess;
  }

  static abi::Result Accept(void* listener, void** comm) {
    *comm = nullptr;
    Result<sys::TcpConnection> connection = static_cast<sys::TcpListener*>(listener)->Accept();
    if (!connection.ok())
      return connection.status().code() == Code::kInProgress ? abi::kSuccess : ResultOf(connection.status());
    *comm = new Socket{.connection = std::move(*connection), .receives = true};
    return abi::kSuccess;
  }

  static abi::Result Register(void* comm, void* data, std::size_t bytes, int type, void** memory) {
    if (type != abi::kHostPointers) return abi::kInvalidArgument;
    auto* made = new Memory{static_cast<std::byte*>(data), bytes};
    static_cast<Socket*>(comm)->memory.insert(made);
    *memory = made;
    return abi::kSuccess;
  }
  static abi::Result Deregister(void* comm, void* memory) {
    auto* made = static_cast<Memory*>(memory);
    if (static_cast<Socket*>(comm)->memory.erase(made) == 0) return abi::kInvalidArgument;
    delete made;
    return abi::kSuccess;
  }

  static abi::Result Add(Socket* comm, void* data, std::size_t bytes, int tag, void* memory, void** request) {
    *request = nullptr;
    if (!comm->Holds(data, bytes, memory)) return abi::kInvalidArgument;
    if (comm->broken != abi::kSuccess) return comm->broken;
    if (comm->requests.size() == static_cast<std::size_t>(abi::MostRequests(TUTTI_FACE))) return abi::kSuccess;
    comm->requests.push_back(std::make_unique<Request>(
        Request{.comm = comm, .header = {.bytes = bytes, .tag = tag}, .data = static_cast<std::byte*>(data)}));
    *request = comm->requests.back().get();
    return abi::kSuccess;
  }
  static abi::Result Send(void* comm, void* data, std::size_t bytes, int tag, void* memory, void** request) {
    auto* socket = static_cast<Socket*>(comm);
    const abi::Result result = Add(socket, data, bytes, tag, memory, request);
    if (*request != nullptr) MoveOut(*socket);
    return result;
  }
  static abi::Result Receive(void* comm, int count, void** data, std::size_t* bytes, int* tags, void** memory,
                             void** request) {
    if (count != 1 || *request != nullptr) return abi::kInvalidUsage;
    return Add(static_cast<Socket*>(comm), data[0], bytes[0], tags[0], memory[0], request);
  }

  // Sends what can be sent of all requests, in order.
  static void MoveOut(Socket& socket) {
    for (const std::unique_ptr<Request>& r : socket.requests) {
      while (!r->ended) {
        const std::size_t head = sizeof(MessageHeader), whole = head + r->header.bytes;
        const auto header = std::as_bytes(std::span(&r->header, 1)).subspan(std::min(r->moved, head));
        const std::size_t sent = r->moved > head ? r->moved - head : 0;
        const std::span<const std::byte> pieces[] = {header, {r->data + sent, r->header.bytes - sent}};
        const Result<std::size_t> n = socket.connection.TrySend(std::span(pieces).subspan(header.empty() ? 1 : 0));
        if (!n.ok()) return void(socket.broken = ResultOf(n.status()));
        r->moved += *n;
        r->ended = r->moved == whole;
        if (*n == 0 && !r->ended) return;
      }
    }
  }

  // Receives what has come for the requests, in order.
  static void MoveIn(Socket& socket) {
    for (const std::unique_ptr<Request>& r : socket.requests) {
      const std::size_t room = r->header.bytes;
      const int tag = r->header.tag;
      while (!r->ended) {
        constexpr std::size_t kHead = sizeof(MessageHeader);
        const bool in_head = r->moved < kHead;
        std::span<std::byte> to = in_head
                                      ? std::as_writable_bytes(std::span(&socket.incoming, 1)).subspan(r->moved)
                                      : std::span(r->data + (r->moved - kHead), r->header.bytes - (r->moved - kHead));
        if (!to.empty()) {
          const Result<std::size_t> n = socket.connection.TryReceive(std::span(&to, 1));
          if (!n.ok()) return void(socket.broken = ResultOf(n.status()));
          if (*n == 0) return;
          r->moved += *n;
        }
        if (in_head && r->moved == kHead) {
          const MessageHeader& came = socket.incoming;
          if (came.tag != tag || came.bytes > room) return void(socket.broken = abi::kInvalidUsage);
          r->header.bytes = came.bytes;
        }
        r->ended = r->moved >= kHead && r->moved == kHead + r->header.bytes;
      }
    }
  }
  static abi::Result Flush(void*, int, void**, int*, void**, void** request) {
    *request = nullptr;
    return abi::kSuccess;
  }

  static abi::Result Test(void* request, int* done, int* sizes) {
    auto* r = static_cast<Request*>(request);
    Socket& socket = *r->comm;
    *done = 0;
    if (!r->ended) socket.receives ? MoveIn(socket) : MoveOut(socket);
    if (!r->ended) return socket.broken;
    *done = 1;
    if (sizes != nullptr) sizes[0] = static_cast<int>(r->header.bytes);
    std::erase_if(socket.requests, [&](const auto& each) { return each.get() == r; });
    return abi::kSuccess;
  }

  static abi::Result Close(void* comm) {
    auto* socket = static_cast<Socket*>(comm);
    const bool clean = socket->memory.empty();
    for (Memory* memory : socket->memory) delete memory;
    delete socket;
    return clean ? abi::kSuccess : abi::kInvalidUsage;
  }
  static abi::Result CloseSend(void* comm) { return Close(comm); }
  static abi::Result CloseReceive(void* comm) { return Close(comm); }
  static abi::Result CloseListener(void* listener) {
    delete static_cast<sys::TcpListener*>(listener);
    return abi::kSuccess;
  }
};

}  // namespace
}  // namespace tutti::tests

extern "C" {
TUTTI_EXPORT tutti::tests::abi::Net<TUTTI_FACE> TUTTI_PLUGIN_SYMBOL(TUTTI_FACE) =
    tutti::tests::Face<tutti::tests::Tcp, TUTTI_FACE>("Tests TCP");
}
