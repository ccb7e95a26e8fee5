// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_CAPI_PROFILE_H_
#define TUTTI_CAPI_PROFILE_H_

// What a profiler plugin is told of the calls of the C interface (docs/plugins.md).
//
//   in the caller's thread    NoteCall        GroupApi, CollApi, P2pApi
//                             Submission      Group; Coll and P2p as the runs begin; KernelLaunch
//   as calls go on            CallProfile     KernelCh, ProxyOp, ProxyStep
//
// A communicator without a plugin has no CallProfile, and its calls ask for no more than that.

#include <memory>

namespace tutti {
class Communicator;
struct Operation;
namespace comm {
class CallObserver;
}
}  // namespace tutti

namespace tutti::capi {

class CallProfile;

// Null where there is no plugin, or none that wants to hear of this communicator.
std::shared_ptr<CallProfile> BeginProfile(const Communicator& communicator);
// Who is to be told of the communicator's calls.
comm::CallObserver& ObserverOf(CallProfile& profile);
// Stops what is open and ends the plugin's part. After the communicator was closed.
void CloseProfile(CallProfile& profile);
// In a forked child: forgets the plugin without a word to it.
void AbandonProfile(CallProfile& profile);

// A call of this thread: its event, and that of the group around it where it is the first of that. `depth`: of the groups that the
// program has begun. What the end of the group begins afterwards finds it; a call outside of groups is one by itself.
void NoteCall(CallProfile& profile, const Operation& operation, void* stream, bool captured, int depth);
// The group that was noted, if any, is being ended: its calls begin.
void BeginNotedCalls();
// It has ended. Forgets what was noted.
void EndNotedCalls();

// While it lives this thread hands noted calls of a communicator on. `profile`: null where nobody is told.
class Submission {
 public:
  explicit Submission(CallProfile* profile) {
    if (profile != nullptr) [[unlikely]]
      Begin(*profile);
  }
  ~Submission() {
    if (begun_) [[unlikely]]
      End();
  }
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

 private:
  void Begin(CallProfile& profile);
  static void End();

  bool begun_ = false;
};

}  // namespace tutti::capi

#endif  // TUTTI_CAPI_PROFILE_H_
