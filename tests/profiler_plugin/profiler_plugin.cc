// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// A profiler plugin that writes down what it is told (seen.h). TUTTI_FACE: the version of its interface. TUTTI_LACKS_STOP: a
// function is missing. TUTTI_TEST_PROFILER in the environment: "fail" makes init fail, "deaf" wants no events.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "profiler/abi.h"
#include "tests/profiler_plugin/seen.h"

namespace {

namespace abi = tutti::profiler::abi;

constexpr int kMostEntries = 100'000;
Entry g_entries[kMostEntries];
std::mutex g_mutex;
int g_count = 0;
int* g_mask = nullptr;
int g_wanted = 0xfff;
std::uintptr_t g_handles = 0x1000;

Entry& Add(Entry::What what) {
  if (g_count == kMostEntries) abort();
  Entry& entry = g_entries[g_count++];
  entry.what = what;
  return entry;
}

void* NewHandle() { return reinterpret_cast<void*>(g_handles += 16); }

abi::Result Init(void** context, std::uint64_t communicator, int* mask, const char* name, int hosts, int ranks,
                 int rank) {
  const char* script = getenv("TUTTI_TEST_PROFILER");
  if (script != nullptr && strcmp(script, "fail") == 0) return 2;
  std::lock_guard lock(g_mutex);
  g_mask = mask;
  *mask = g_wanted;
  *context = script != nullptr && strcmp(script, "deaf") == 0 ? nullptr : NewHandle();
  Entry& entry = Add(Entry::kInit);
  entry.context = *context;
  entry.communicator = communicator;
  entry.rank = rank;
  entry.ranks = ranks;
  entry.hosts = hosts;
  strncpy(entry.name, name != nullptr ? name : "", sizeof(entry.name) - 1);
  return abi::kSuccess;
}

template <typename Coll>
void ReadColl(const Coll& coll, Entry& entry) {
  entry.function = coll.function;
  entry.datatype = coll.type;
  entry.algorithm = coll.algorithm;
  entry.protocol = coll.protocol;
  entry.count = coll.count;
  entry.sequence = coll.sequence;
  entry.channels = coll.channels;
}

template <typename P2p>
void ReadP2p(const P2p& p2p, Entry& entry) {
  entry.function = p2p.function;
  entry.datatype = p2p.type;
  entry.count = p2p.count;
  entry.peer = p2p.peer;
  entry.channels = p2p.channels;
}

template <typename Api>
void ReadApi(const Api& api, Entry& entry) {
  entry.function = api.function;
  entry.datatype = api.type;
  entry.count = api.count;
}

template <typename Description>
void ReadApis(const Description& d, Entry& entry) {
  if constexpr (requires { d.group_api; }) {
    if (d.type == abi::kGroupApi) entry.depth = d.group_api.depth;
    if (d.type == abi::kCollApi) ReadApi(d.coll_api, entry);
    if (d.type == abi::kP2pApi) ReadApi(d.p2p_api, entry);
  } else {
    abort();  // version 4 has no such events
  }
}

template <typename Description>
abi::Result Start(void* context, void** event, Description* d) {
  std::lock_guard lock(g_mutex);
  *event = NewHandle();
  Entry& entry = Add(Entry::kStart);
  entry.context = context;
  entry.event = *event;
  entry.parent = d->parent;
  entry.type = d->type;
  entry.rank = d->rank;
  switch (d->type) {
    case abi::kGroup:
      break;
    case abi::kColl:
      ReadColl(d->coll, entry);
      if constexpr (sizeof(d->coll) == sizeof(abi::Coll5)) entry.parent_group = d->coll.parent_group;
      break;
    case abi::kP2p:
      ReadP2p(d->p2p, entry);
      if constexpr (sizeof(d->p2p) == sizeof(abi::P2p5)) entry.parent_group = d->p2p.parent_group;
      break;
    case abi::kProxyOp:
      entry.peer = d->proxy_op.peer;
      entry.is_send = d->proxy_op.is_send;
      break;
    case abi::kProxyStep:
      entry.step = d->proxy_step.step;
      break;
    case abi::kKernelCh:
      entry.timer_ns = d->kernel_ch.timer_ns;
      break;
    default:
      ReadApis(*d, entry);
  }
  return abi::kSuccess;
}

[[maybe_unused]] abi::Result Stop(void* event) {
  std::lock_guard lock(g_mutex);
  Add(Entry::kStop).event = event;
  return abi::kSuccess;
}

abi::Result RecordState(void* event, int state, abi::StateArguments* arguments) {
  std::lock_guard lock(g_mutex);
  Entry& entry = Add(Entry::kState);
  entry.event = event;
  entry.state = state;
  entry.timer_ns = arguments->timer_ns;
  return abi::kSuccess;
}

abi::Result Finalize(void* context) {
  std::lock_guard lock(g_mutex);
  Add(Entry::kFinalize).context = context;
  return abi::kSuccess;
}

#if TUTTI_FACE == 4
abi::Result Begin(void** context, int* mask, const char* name, std::uint64_t communicator, int hosts, int ranks,
                  int rank, abi::Log log) {
  log(3, 0x4000, __FILE__, __LINE__, "the plugin of the tests begins for rank %d", rank);
  return Init(context, communicator, mask, name, hosts, ranks, rank);
}
#else
abi::Result Begin(void** context, std::uint64_t communicator, int* mask, const char* name, int hosts, int ranks,
                  int rank, abi::Log log) {
  log(3, 0x4000, __FILE__, __LINE__, "the plugin of the tests begins for rank %d", rank);
  return Init(context, communicator, mask, name, hosts, ranks, rank);
}
#endif

#ifdef TUTTI_LACKS_STOP
constexpr auto* kStop = static_cast<abi::Result (*)(void*)>(nullptr);
#else
constexpr auto* kStop = &Stop;
#endif

}  // namespace

#define TUTTI_SYMBOL_OF(version) ncclProfiler_v##version
#define TUTTI_SYMBOL(version) TUTTI_SYMBOL_OF(version)

extern "C" {
[[gnu::visibility("default")]] abi::Profiler<TUTTI_FACE> TUTTI_SYMBOL(TUTTI_FACE) = {
    "Tests", &Begin, &Start<abi::Description<TUTTI_FACE>>, kStop, &RecordState, &Finalize};

[[gnu::visibility("default")]] const Entry* tutti_test_entries(int* count) {
  std::lock_guard lock(g_mutex);
  *count = g_count;
  return g_entries;
}

[[gnu::visibility("default")]] void tutti_test_ask(int mask) {
  std::lock_guard lock(g_mutex);
  g_wanted = mask;
  if (g_mask != nullptr) __atomic_store_n(g_mask, mask, __ATOMIC_RELAXED);
}
}
