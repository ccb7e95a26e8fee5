// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_CAPI_CALL_PROFILE_H_
#define TUTTI_CAPI_CALL_PROFILE_H_

// The events of one communicator's calls (profile.h). For profile.cc and call_profile.cc only.

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "comm/host/call_observer.h"
#include "profiler/session.h"
#include "tutti/operation.h"

namespace tutti::capi {

class CallProfile;

// What a thread hands on of a communicator's noted calls (Submission).
struct Submitted {
  CallProfile* profile = nullptr;  // null: nothing
  profiler::Event group, launch;
  std::vector<profiler::Event> tasks;
};
Submitted& SubmittedByThread();
// The event of a call that this thread has noted and not yet begun, which begins with this; null: the program has not called it.
const profiler::Event* TakeNoted(const CallProfile* profile, const Operation& operation);
// That of the group.
const profiler::Event& NotedGroupEvent();

class CallProfile final : public comm::CallObserver {
 public:
  explicit CallProfile(std::shared_ptr<profiler::Session> session);
  ~CallProfile() override;

  const std::shared_ptr<profiler::Session>& session() { return session_; }

  Token Begins(const Run& run) override;
  void Starts(Token token, std::int64_t now_ns) override;
  void Ends(Token token, std::int64_t now_ns) override;
  void Waits(Token token, const Wait& wait) override;
  void Launches(void* stream) override;
  void HasLaunched() override;

 private:
  struct Proxy;
  struct Task;
  struct Running;

  profiler::Event StartTask(const Operation& operation, const Run& run, const profiler::Event& api,
                            const profiler::Event& group);
  profiler::Event StartColl(const Operation& operation, const Run& run, const profiler::Event& api,
                            const profiler::Event& group);
  profiler::Event StartP2p(const Operation& operation, const Run& run, const profiler::Event& api,
                           const profiler::Event& group);
  // How many KernelCh events a run will have, where those are asked for; else its channels.
  std::uint8_t ChannelsOf(const Run& run) const;
  Proxy* FindProxy(Running& running, const Wait& wait, bool is_send);
  void StartStep(Running& running, Proxy& proxy);
  void StopStep(Running& running);

  const std::shared_ptr<profiler::Session> session_;
  const std::int32_t pid_;
  std::mutex mutex_;
  // Guarded by mutex_.
  std::unordered_set<Running*> running_;
  std::array<std::uint64_t, 12> sequences_{};  // collectives so far, by Collective
};

}  // namespace tutti::capi

#endif  // TUTTI_CAPI_CALL_PROFILE_H_
