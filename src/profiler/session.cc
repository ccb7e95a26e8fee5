// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "profiler/session.h"

#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "base/plugin_names.h"

namespace tutti::profiler {
namespace {

constexpr unsigned kOfTasks = abi::kProxyOp | abi::kProxyStep | abi::kKernelCh;

// The type and those below it.
constexpr unsigned Below(abi::EventType type) {
  switch (type) {
    case abi::kGroupApi:
      return abi::kGroupApi | abi::kCollApi | abi::kP2pApi | abi::kKernelLaunch | abi::kGroup | abi::kColl | abi::kP2p |
             kOfTasks;
    case abi::kGroup:
      return abi::kGroup | abi::kColl | abi::kP2p | kOfTasks;
    case abi::kCollApi:
      return abi::kCollApi | abi::kColl | kOfTasks;
    case abi::kP2pApi:
      return abi::kP2pApi | abi::kP2p | kOfTasks;
    case abi::kColl:
    case abi::kP2p:
      return type | kOfTasks;
    case abi::kProxyOp:
      return abi::kProxyOp | abi::kProxyStep;
    default:
      return type;
  }
}

}  // namespace

Session::Session(std::shared_ptr<const Interface> plugin, const Audience& audience, const int* mask)
    : plugin_(std::move(plugin)), audience_(audience), mask_(mask) {}

Result<std::shared_ptr<Session>> Session::Begin(std::shared_ptr<const Interface> plugin, const Audience& audience,
                                                const int* mask) {
  std::shared_ptr<Session> session(new Session(std::move(plugin), audience, mask));
  const std::string& name = session->audience_.name;
  void* context = nullptr;
  const abi::Result result = session->plugin_->Init(session->audience_, name.empty() ? nullptr : name.c_str(),
                                                    const_cast<int*>(mask), &context);
  if (result != abi::kSuccess) {
    return Status(Code::kSystem, fmt::format("its init said {} ({})", NcclResultName(result), result));
  }
  if (context == nullptr) return std::shared_ptr<Session>();
  session->context_ = context;
  return session;
}

Session::~Session() { Finalize(); }

// The plugin may write it at any time, from any thread.
unsigned Session::Mask() const { return static_cast<unsigned>(__atomic_load_n(mask_, __ATOMIC_RELAXED)); }

bool Session::Wants(abi::EventType type) const { return (Mask() & Below(type)) != 0; }

Event Session::Start(Description& description, const Event& parent) {
  if (!Wants(static_cast<abi::EventType>(description.type))) return {};
  description.parent = parent.handle;
  description.rank = audience_.rank;
  std::lock_guard lock(mutex_);
  if (context_ == nullptr) return {};
  void* handle = nullptr;
  (void)plugin_->Start(context_, description, &handle);
  if (handle == nullptr) return {};
  open_.emplace(++started_, handle);
  return {.handle = handle, .number = started_};
}

void Session::Record(const Event& event, abi::State state, abi::StateArguments arguments) {
  if (event.handle == nullptr) return;
  std::lock_guard lock(mutex_);
  if (context_ != nullptr && open_.contains(event.number)) (void)plugin_->Record(event.handle, state, arguments);
}

void Session::Stop(const Event& event) {
  if (event.handle == nullptr) return;
  std::lock_guard lock(mutex_);
  if (context_ != nullptr && open_.erase(event.number) > 0) (void)plugin_->Stop(event.handle);
}

void Session::Finalize() {
  std::lock_guard lock(mutex_);
  if (context_ == nullptr) return;
  while (!open_.empty()) {
    void* const handle = open_.rbegin()->second;
    open_.erase(std::prev(open_.end()));
    (void)plugin_->Stop(handle);
  }
  (void)plugin_->Finalize(std::exchange(context_, nullptr));
}

// Without the lock: a thread of the parent may hold it.
void Session::Abandon() { context_ = nullptr; }

}  // namespace tutti::profiler
