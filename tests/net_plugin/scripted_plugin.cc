// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// A network within one process that does what a script says (script.h) and notices what hosts do wrong. Its table holds nothing but
// a name and init until init is called.
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "tests/net_plugin/faces.h"
#include "tests/net_plugin/script.h"

namespace tutti::tests {
namespace {

Script* g_script = new Script;

struct Message {
  int tag;
  std::vector<std::byte> bytes;
};
// From a sender to a receiver. Lives until both are gone.
struct Pipe {
  std::mutex mutex;
  std::deque<Message> messages;
  bool sender_gone = false, receiver_gone = false;
};
struct ListenerState {
  std::mutex mutex;
  std::deque<std::shared_ptr<Pipe>> callers;
  int not_yet = 0;
};
// In the 128 bytes of a handle. `self` is set by the first connect: later ones must come with the same bytes at the same place.
struct Address {
  ListenerState* listener;
  void* self;
  int asked;
};

struct Transfer {
  struct Connection* comm;
  void* data;
  std::size_t bytes;
  int tag;
  int tests = 0;
};
struct Memory {
  const std::byte* begin;
  std::size_t bytes;
};
struct Connection {
  std::shared_ptr<Pipe> pipe;
  bool sends = false;
  std::deque<std::unique_ptr<Transfer>> transfers;
  std::set<Memory*> memory;
  Transfer put_off{};  // the last message that was told "not now"
  int asked = 0;
  std::atomic<bool> busy{false};
};

// Notices two threads in one comm.
class Inside {
 public:
  explicit Inside(Connection& comm) : comm_(comm) {
    if (comm_.busy.exchange(true)) g_script->Notice("two threads in one comm");
  }
  ~Inside() { comm_.busy = false; }

 private:
  Connection& comm_;
};

bool Fails(const char* function) {
  const int call = g_script->CountCall(function);
  return call >= g_script->works;
}
#define TUTTI_SCRIPTED(function) \
  if (Fails(function)) return g_script->error

struct Scripted {
  static abi::Result Init(void** context, std::uint64_t, abi::Log log);
  static abi::Result Finalize(void* context) {
    ++g_script->finalizes;
    if (context != g_script) g_script->Notice("another context than init's");
    return abi::kSuccess;
  }
  static abi::Result Devices(int* count) {
    TUTTI_SCRIPTED("devices");
    *count = g_script->devices;
    return abi::kSuccess;
  }
  static abi::Result Describe(int device, abi::Properties<12>* p) {
    TUTTI_SCRIPTED("getProperties");
    p->name = device == 0 ? "scripted0" : "scripted1", p->pciPath = device == 0 ? "/sys/scripted" : nullptr;
    p->guid = 42, p->ptrSupport = g_script->pointers, p->regIsGlobal = 1, p->forceFlush = 1;
    p->speed = 400000, p->port = 7, p->latency = 1.5F, p->maxComms = 99, p->maxRecvs = 8;
    p->netDeviceType = g_script->device_type, p->netDeviceVersion = 3;
    p->maxP2pBytes = g_script->max_bytes, p->maxCollBytes = 5, p->railId = 11, p->planeId = 12;
    return abi::kSuccess;
  }

  static abi::Result Listen(void*, int, void* handle, void** comm) {
    TUTTI_SCRIPTED("listen");
    auto* made = new ListenerState;
    const Address at{.listener = made, .self = nullptr, .asked = 0};
    std::memcpy(handle, &at, sizeof(at));
    *comm = made;
    return abi::kSuccess;
  }
  static abi::Result Connect(void*, int, void* handle, void** comm) {
    TUTTI_SCRIPTED("connect");
    *comm = nullptr;
    auto* at = static_cast<Address*>(handle);
    if (at->self == nullptr) at->self = handle;
    if (at->self != handle) g_script->Notice("connect from another copy of the handle");
    if (at->asked++ < g_script->not_yet || g_script->nobody_comes) return abi::kSuccess;
    auto* made = new Connection;
    made->pipe = std::make_shared<Pipe>(), made->sends = true;
    std::lock_guard lock(at->listener->mutex);
    at->listener->callers.push_back(made->pipe);
    ++g_script->open_comms;
    *comm = made;
    return abi::kSuccess;
  }
  static abi::Result Accept(void* listener, void** comm) {
    TUTTI_SCRIPTED("accept");
    *comm = nullptr;
    auto* from = static_cast<ListenerState*>(listener);
    std::lock_guard lock(from->mutex);
    if (from->callers.empty() || g_script->nobody_comes || from->not_yet++ < g_script->not_yet) return abi::kSuccess;
    from->not_yet = 0;
    auto* made = new Connection;
    made->pipe = from->callers.front();
    from->callers.pop_front();
    ++g_script->open_comms;
    *comm = made;
    return abi::kSuccess;
  }

  static abi::Result Register(void* comm, void* data, std::size_t bytes, int type, void** memory) {
    TUTTI_SCRIPTED("regMr");
    Inside inside(*static_cast<Connection*>(comm));
    if (type != abi::kHostPointers) g_script->Notice("memory of another kind");
    auto* made = new Memory{static_cast<std::byte*>(data), bytes};
    static_cast<Connection*>(comm)->memory.insert(made);
    ++g_script->open_memory;
    *memory = made;
    return abi::kSuccess;
  }
  static abi::Result Deregister(void* comm, void* memory) {
    auto* made = static_cast<Memory*>(memory);
    if (static_cast<Connection*>(comm)->memory.erase(made) == 0) {
      g_script->Notice("memory that is not this comm's");
      return abi::kInvalidArgument;
    }
    --g_script->open_memory;
    delete made;
    TUTTI_SCRIPTED("deregMr");
    return abi::kSuccess;
  }

  // Puts a message off as often as the script says, and notices what is not asked for again in the same words.
  static abi::Result Begin(Connection& comm, const Transfer& asked, void* memory, void** request) {
    Inside inside(comm);
    auto* m = static_cast<Memory*>(memory);
    const auto* at = static_cast<const std::byte*>(asked.data);
    if (!comm.memory.contains(m) || at < m->begin || at + asked.bytes > m->begin + m->bytes) {
      g_script->Notice("data outside registered memory");
    }
    if (comm.transfers.size() >= static_cast<std::size_t>(abi::MostRequests(TUTTI_FACE))) {
      g_script->Notice("more requests than the interface allows");
    }
    *request = nullptr;
    const Transfer& last = comm.put_off;
    const bool same = last.data == asked.data && last.bytes == asked.bytes && last.tag == asked.tag;
    if (comm.asked > 0 && !same) g_script->Notice("another message than the one put off");
    comm.put_off = asked;
    if (comm.asked++ < g_script->not_yet) return abi::kSuccess;
    comm.asked = 0;
    comm.transfers.push_back(std::make_unique<Transfer>(asked));
    *request = comm.transfers.back().get();
    return abi::kSuccess;
  }
  static abi::Result Send(void* comm, void* data, std::size_t bytes, int tag, void* memory, void** request) {
    TUTTI_SCRIPTED("isend");
    auto* c = static_cast<Connection*>(comm);
    return Begin(*c, {.comm = c, .data = data, .bytes = bytes, .tag = tag}, memory, request);
  }
  static abi::Result Receive(void* comm, int count, void** data, std::size_t* bytes, int* tags, void** memory,
                             void** request) {
    TUTTI_SCRIPTED("irecv");
    if (*request != nullptr) g_script->Notice("a request before irecv");
    if (count != 1) g_script->Notice("several buffers");
    auto* c = static_cast<Connection*>(comm);
    return Begin(*c, {.comm = c, .data = data[0], .bytes = bytes[0], .tag = tags[0]}, memory[0], request);
  }
  static abi::Result Flush(void*, int, void**, int*, void**, void** request) {
    TUTTI_SCRIPTED("iflush");
    *request = nullptr;
    return abi::kSuccess;
  }

  static abi::Result Test(void* request, int* done, int* sizes) {
    TUTTI_SCRIPTED("test");
    auto* transfer = static_cast<Transfer*>(request);
    Connection& comm = *transfer->comm;
    Inside inside(comm);
    *done = 0;
    if (comm.transfers.front().get() != transfer) {
      g_script->Notice("test of another request than the oldest");
      return abi::kInternalError;
    }
    if (transfer->tests++ < g_script->not_yet || g_script->never_ends) return abi::kSuccess;
    std::lock_guard lock(comm.pipe->mutex);
    if (comm.sends) {
      if (comm.pipe->receiver_gone) return abi::kRemoteError;
      const auto* data = static_cast<const std::byte*>(transfer->data);
      comm.pipe->messages.push_back({transfer->tag, {data, data + transfer->bytes}});
    } else {
      if (comm.pipe->messages.empty()) return comm.pipe->sender_gone ? abi::kRemoteError : abi::kSuccess;
      const Message message = std::move(comm.pipe->messages.front());
      comm.pipe->messages.pop_front();
      if (message.tag != transfer->tag || message.bytes.size() > transfer->bytes) {
        g_script->Notice("a receive that does not fit its message");
        return abi::kInternalError;
      }
      if (!message.bytes.empty()) std::memcpy(transfer->data, message.bytes.data(), message.bytes.size());
      if (g_script->tells_sizes) sizes[0] = static_cast<int>(message.bytes.size());
    }
    comm.transfers.pop_front();
    *done = 1;
    return abi::kSuccess;
  }

  static abi::Result Close(Connection* comm) {
    if (!comm->memory.empty()) g_script->Notice("a comm closed before its memory was given back");
    g_script->given_up += static_cast<int>(comm->transfers.size());
    {
      std::lock_guard lock(comm->pipe->mutex);
      (comm->sends ? comm->pipe->sender_gone : comm->pipe->receiver_gone) = true;
    }
    delete comm;
    --g_script->open_comms;
    return abi::kSuccess;
  }
  static abi::Result CloseSend(void* comm) {
    Close(static_cast<Connection*>(comm));
    TUTTI_SCRIPTED("closeSend");
    return abi::kSuccess;
  }
  static abi::Result CloseReceive(void* comm) {
    Close(static_cast<Connection*>(comm));
    TUTTI_SCRIPTED("closeRecv");
    return abi::kSuccess;
  }
  static abi::Result CloseListener(void* listener) {
    delete static_cast<ListenerState*>(listener);
    TUTTI_SCRIPTED("closeListen");
    return abi::kSuccess;
  }
};

}  // namespace
}  // namespace tutti::tests

extern "C" {
TUTTI_EXPORT tutti::tests::abi::Net<TUTTI_FACE> TUTTI_PLUGIN_SYMBOL(TUTTI_FACE) =
    tutti::tests::Begin<tutti::tests::Scripted, TUTTI_FACE>("not named yet");
TUTTI_EXPORT tutti::tests::Script* tutti_test_script() { return tutti::tests::g_script; }
// A new script, and the plugin as it is before init.
TUTTI_EXPORT tutti::tests::Script* tutti_test_new_script() {
  using namespace tutti::tests;
  delete g_script;
  g_script = new Script;
  TUTTI_PLUGIN_SYMBOL(TUTTI_FACE) = Begin<Scripted, TUTTI_FACE>("not named yet");
  return g_script;
}
}

namespace tutti::tests {
namespace {

abi::Result Scripted::Init(void** context, std::uint64_t, abi::Log log) {
  ++g_script->inits;
  log(3, 0x10, "scripted.cc", 7, "scripted, %s", "says the plugin");
  if (g_script->fails == "init") log(2, 0x10, "scripted.cc", 8, "no luck, code %d", 17);
  TUTTI_SCRIPTED("init");
  auto& table = TUTTI_PLUGIN_SYMBOL(TUTTI_FACE);
  Fill<Scripted, TUTTI_FACE>(table);
  table.name = "Scripted";
  if (g_script->lacks == "isend") table.isend = nullptr;
  if (g_script->edits_environment) setenv("NCCL_PROTO", "simple", 1);
  *context = g_script;
  return abi::kSuccess;
}

}  // namespace
}  // namespace tutti::tests
