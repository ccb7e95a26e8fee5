// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "capi/call_profile.h"

#include <algorithm>
#include <utility>

#include "profiler/names.h"
#include "sys/os/process.h"

namespace tutti::capi {
namespace {

using profiler::Description;
using profiler::Event;
using profiler::Session;
namespace abi = profiler::abi;

// NVIDIA's example keeps the events of links in lists of this length, for each channel of a collective, and looks at no end.
constexpr int kMostProxies = 32;
constexpr int kLanesOfWarp = 32;

}  // namespace

// The events of one link, in one direction.
struct CallProfile::Proxy {
  int channel, peer;
  bool is_send;
  Event event;
  int steps = 0;
};

// One call of a run.
struct CallProfile::Task {
  Collective kind;
  int root;
  Event event, kernel;
  std::vector<Proxy> proxies;
};

struct CallProfile::Running {
  std::vector<Task> tasks;
  Wait wait;   // the one that `step` is about
  Event step;  // none: it waits for nothing, or nobody wants to know
};

// Steps go through all states that NCCL's have, since tools show the time from each to the next. What takes no time here comes at the
// same moment as the next.
void CallProfile::StartStep(Running& running, Proxy& proxy) {
  Description d{.type = abi::kProxyStep};
  d.proxy_step = {.step = proxy.steps++};
  const Event step = running.step = session_->Start(d, proxy.event);
  if (!proxy.is_send) {
    session_->Record(step, abi::kRecvWait);
    return;
  }
  session_->Record(step, abi::kSendGpuWait);
  session_->Record(step, abi::kSendPeerWait);
  if (running.wait.kind == trace::WaitKind::kReaders) session_->Record(step, abi::kSendWait);
}

void CallProfile::StopStep(Running& running) {
  const Event step = std::exchange(running.step, {});
  const trace::WaitKind kind = running.wait.kind;
  if (kind == trace::WaitKind::kData) {
    session_->Record(step, abi::kRecvFlushWait);
    session_->Record(step, abi::kRecvGpuWait);
  } else if (kind != trace::WaitKind::kReaders) {
    session_->Record(step, abi::kSendWait);
  }
  session_->Stop(step);
}

CallProfile::CallProfile(std::shared_ptr<Session> session) : session_(std::move(session)), pid_(sys::Self().pid) {}

CallProfile::~CallProfile() {
  for (Running* running : running_) delete running;
}

std::uint8_t CallProfile::ChannelsOf(const Run& run) const {
  if (!session_->AsksFor(abi::kKernelCh)) return run.how.channels;
  return run.side == Side::kGraph ? 0 : 1;
}

Event CallProfile::StartColl(const Operation& o, const Run& run, const Event& api, const Event& group) {
  std::uint64_t sequence;
  {
    std::lock_guard lock(mutex_);
    std::uint64_t& next = sequences_[static_cast<std::size_t>(o.kind)];
    sequence = run.side == Side::kGraph ? next : next++;
  }
  Description d{.type = abi::kColl};
  d.coll = {.sequence = sequence,
            .function = profiler::FunctionName(o.kind),
            .in = o.in,
            .out = o.out,
            .count = o.count,
            .root = o.root,
            .type = profiler::TypeName(o.type),
            .channels = ChannelsOf(run),
            .warps = static_cast<std::uint8_t>(run.threads / kLanesOfWarp),
            .algorithm = profiler::AlgorithmName(run.how),
            .protocol = profiler::ProtocolName(run.how),
            .parent_group = group.handle};
  return session_->Start(d, api);
}

Event CallProfile::StartP2p(const Operation& o, const Run& run, const Event& api, const Event& group) {
  Description d{.type = abi::kP2p};
  d.p2p = {.function = profiler::FunctionName(o.kind),
           .buffer = o.kind == Collective::kSend ? const_cast<void*>(o.in) : o.out,
           .type = profiler::TypeName(o.type),
           .count = o.count,
           .peer = o.root,
           .channels = ChannelsOf(run),
           .parent_group = group.handle};
  return session_->Start(d, api);
}

Event CallProfile::StartTask(const Operation& o, const Run& run, const Event& api, const Event& group) {
  return IsTransfer(o.kind) ? StartP2p(o, run, api, group) : StartColl(o, run, api, group);
}

CallProfile::Token CallProfile::Begins(const Run& run) {
  Submitted& submitted = SubmittedByThread();
  if (submitted.profile != this) return nullptr;  // the library's own
  auto running = std::make_unique<Running>();
  bool wanted = false;
  for (const Operation* o : run.operations) {
    const Event* api = TakeNoted(this, *o);
    if (api == nullptr) continue;
    if (submitted.group.handle == nullptr) {
      Description group{.type = abi::kGroup};
      submitted.group = session_->Start(group);
    }
    const Event event = StartTask(*o, run, *api, submitted.group);
    submitted.tasks.push_back(event);
    running->tasks.push_back({.kind = o->kind, .root = o->root, .event = event});
    wanted |= event.handle != nullptr;
  }
  const bool goes_on = run.side == Side::kHost || (run.side == Side::kGpu && session_->Wants(abi::kKernelCh));
  if (!wanted || !goes_on) return nullptr;
  std::lock_guard lock(mutex_);
  return *running_.insert(running.release()).first;
}

void CallProfile::Starts(Token token, std::int64_t now_ns) {
  if (!session_->Wants(abi::kKernelCh)) return;
  for (Task& task : static_cast<Running*>(token)->tasks) {
    if (task.event.handle == nullptr) continue;
    Description d{.type = abi::kKernelCh};
    d.kernel_ch = {.channel = 0, .timer_ns = static_cast<std::uint64_t>(now_ns)};
    task.kernel = session_->Start(d, task.event);
  }
}

void CallProfile::Ends(Token token, std::int64_t now_ns) {
  std::unique_ptr<Running> running;
  {
    std::lock_guard lock(mutex_);
    running.reset(static_cast<Running*>(token));
    running_.erase(running.get());
  }
  StopStep(*running);
  for (Task& task : running->tasks) {
    for (const Proxy& proxy : task.proxies) session_->Stop(proxy.event);
    if (now_ns != 0) {
      session_->Record(task.kernel, abi::kKernelChStop, {.timer_ns = static_cast<std::uint64_t>(now_ns)});
    }
    session_->Stop(task.kernel);
  }
}

// The call of a run that such a wait belongs to, and the events of its link; null: the plugin is told of no such.
CallProfile::Proxy* CallProfile::FindProxy(Running& running, const Wait& wait, bool is_send) {
  const auto task = std::ranges::find_if(running.tasks, [&](const Task& t) {
    return !IsTransfer(t.kind) || (t.root == wait.peer && (t.kind == Collective::kSend) == is_send);
  });
  if (task == running.tasks.end() || task->event.handle == nullptr) return nullptr;
  int of_channel = 0;
  for (Proxy& proxy : task->proxies) {
    if (proxy.channel != wait.channel) continue;
    if (proxy.peer == wait.peer && proxy.is_send == is_send) return &proxy;
    ++of_channel;
  }
  if (of_channel == kMostProxies) return nullptr;
  Description d{.type = abi::kProxyOp};
  d.proxy_op = {.pid = pid_,
                .channel = static_cast<std::uint8_t>(wait.channel),
                .peer = wait.peer,
                .steps = 0,
                .chunk_bytes = 0,
                .is_send = is_send ? 1 : 0};
  const Event event = session_->Start(d, task->event);
  if (event.handle == nullptr) return nullptr;
  session_->Record(event, abi::kProxyOpInProgress);
  return &task->proxies.emplace_back(
      Proxy{.channel = wait.channel, .peer = wait.peer, .is_send = is_send, .event = event});
}

void CallProfile::Waits(Token token, const Wait& wait) {
  if (!session_->Wants(abi::kProxyOp)) return;
  Running& running = *static_cast<Running*>(token);
  if (running.wait == wait) return;
  StopStep(running);
  running.wait = wait;
  Proxy* proxy = FindProxy(running, wait, wait.kind != trace::WaitKind::kData);
  if (proxy != nullptr) StartStep(running, *proxy);
}

void CallProfile::Launches(void* stream) {
  Submitted& submitted = SubmittedByThread();
  if (submitted.profile != this) return;
  Description d{.type = abi::kKernelLaunch};
  d.kernel_launch = {.stream = stream};
  submitted.launch = session_->Start(d, NotedGroupEvent());
}

void CallProfile::HasLaunched() {
  const Submitted& submitted = SubmittedByThread();
  if (submitted.profile == this) session_->Stop(submitted.launch);
}

}  // namespace tutti::capi
