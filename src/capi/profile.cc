// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// What a thread has called and not yet begun, and how a communicator's profile begins and ends.
#include "capi/profile.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "capi/call_profile.h"
#include "comm/host/impl.h"
#include "comm/host/placement.h"
#include "profiler/find_profiler.h"
#include "profiler/names.h"

namespace tutti::capi {
namespace {

using profiler::Description;
using profiler::Event;
using profiler::Session;
namespace abi = profiler::abi;

// A call of this thread that has not begun.
struct NotedCall {
  CallProfile* profile;
  Operation operation;
  Event api;
  bool begun;
};

// The calls of a thread since the outermost group began.
struct NotedGroup {
  std::shared_ptr<Session> session;  // that has the event of the group: the first call's
  Event event;
  std::vector<NotedCall> calls;
  std::size_t first = 0;  // those before it have begun
};

thread_local NotedGroup t_noted;
constinit thread_local bool t_has_noted = false;  // apart, since most groups ask for no more, and this needs no set-up
thread_local Submitted t_submitted;

bool IsSame(const Operation& a, const Operation& b) {
  return a.kind == b.kind && a.in == b.in && a.out == b.out && a.count == b.count && a.type == b.type && a.op == b.op &&
         a.root == b.root;
}

Event StartApi(Session& session, const Operation& o, void* stream, bool captured, const Event& group) {
  Description d{};
  if (IsTransfer(o.kind)) {
    d.type = abi::kP2pApi;
    d.p2p_api = {.function = profiler::FunctionName(o.kind),
                 .count = o.count,
                 .type = profiler::TypeName(o.type),
                 .stream = stream,
                 .graph_captured = captured};
  } else {
    d.type = abi::kCollApi;
    d.coll_api = {.function = profiler::FunctionName(o.kind),
                  .count = o.count,
                  .type = profiler::TypeName(o.type),
                  .root = o.root,
                  .stream = stream,
                  .graph_captured = captured};
  }
  return session.Start(d, group);
}

}  // namespace

Submitted& SubmittedByThread() { return t_submitted; }

const Event& NotedGroupEvent() { return t_noted.event; }

const Event* TakeNoted(const CallProfile* profile, const Operation& operation) {
  std::vector<NotedCall>& calls = t_noted.calls;
  while (t_noted.first < calls.size() && calls[t_noted.first].begun) ++t_noted.first;
  for (std::size_t i = t_noted.first; i < calls.size(); ++i) {
    if (calls[i].begun || calls[i].profile != profile || !IsSame(calls[i].operation, operation)) continue;
    calls[i].begun = true;
    return &calls[i].api;
  }
  return nullptr;
}

std::shared_ptr<CallProfile> BeginProfile(const Communicator& communicator) {
  const Communicator::Impl& c = *communicator.impl();
  const int hosts = c.placement != nullptr && c.placement->several() ? static_cast<int>(c.placement->hosts.size()) : 1;
  std::shared_ptr<Session> session = profiler::BeginSession(
      {.plugin = c.settings.profiler_plugin, .network_library = c.network_library},
      {.communicator = c.id_hash, .name = c.name, .hosts = hosts, .ranks = c.ranks, .rank = c.rank});
  return session == nullptr ? nullptr : std::make_shared<CallProfile>(std::move(session));
}

comm::CallObserver& ObserverOf(CallProfile& profile) { return profile; }

void CloseProfile(CallProfile& profile) { profile.session()->Finalize(); }

void AbandonProfile(CallProfile& profile) { profile.session()->Abandon(); }

void NoteCall(CallProfile& profile, const Operation& operation, void* stream, bool captured, int depth) {
  if (operation.count == 0 && !IsTransfer(operation.kind)) return;  // as NCCL, which drops it
  NotedGroup& noted = t_noted;
  if (!t_has_noted) {
    t_has_noted = true;
    noted.session = profile.session();
    Description d{.type = abi::kGroupApi};
    d.group_api = {.graph_captured = captured, .depth = depth + 1};
    noted.event = noted.session->Start(d);
    noted.session->Record(noted.event, abi::kGroupStartApiStop);
  }
  const Event api = StartApi(*profile.session(), operation, stream, captured, noted.event);
  profile.session()->Stop(api);
  noted.calls.push_back({.profile = &profile, .operation = operation, .api = api, .begun = false});
}

void BeginNotedCalls() {
  if (t_has_noted) t_noted.session->Record(t_noted.event, abi::kGroupEndApiStart);
}

void EndNotedCalls() {
  if (!t_has_noted) return;
  t_has_noted = false;
  t_noted.session->Stop(t_noted.event);
  t_noted.session.reset();
  t_noted.event = {};
  t_noted.calls.clear();
  t_noted.first = 0;
}

void Submission::Begin(CallProfile& profile) {
  begun_ = true;
  t_submitted.profile = &profile;
}

void Submission::End() {
  const Submitted submitted = std::exchange(t_submitted, {});
  Session& session = *submitted.profile->session();
  for (const Event& task : submitted.tasks) session.Stop(task);
  session.Stop(submitted.group);
}

}  // namespace tutti::capi
