// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/ras.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/log.h"
#include "ras/observation.h"
#include "ras/service.h"
#include "sys/log/thread_name.h"
#include "sys/net/unix_socket.h"
#include "sys/os/clock.h"
#include "sys/os/process.h"
#include "sys/os/thread.h"
#include "watch/joint_look.h"
#include "watch/own_look.h"
#include "watch/registry.h"

namespace tutti::watch {
namespace {

constexpr std::int64_t kMostAskNs = 2 * sys::kNsPerSecond;  // RAS clients wait for 5 s at least

void AddFinding(const Subject& subject, std::vector<ras::Finding>& findings) {
  if (subject.standing.kind.empty()) return;
  ras::Finding finding{.communicator = subject.terms.communicator,
                       .kind = subject.standing.kind,
                       .sentence = subject.standing.sentence,
                       .about = subject.standing.about,
                       .exclude = subject.standing.exclude};
  // Several ranks of this process may be told the same.
  if (std::ranges::find(findings, finding) == findings.end()) findings.push_back(std::move(finding));
}

// Asks other hosts, and waits for their answers.
void AskOthers(const std::vector<std::shared_ptr<Subject>>& subjects, Inquiry& inquiry) {
  inquiry.Begin(AboutOwn(subjects, [](const Subject&) { return true; }), sys::NowNs());
  const std::int64_t until_ns = sys::NowNs() + kMostAskNs;
  while (!inquiry.IsSettled() && sys::NowNs() < until_ns) {
    std::vector<sys::Watched> watched;
    inquiry.AddWatched(watched);
    const std::int64_t wake_ns = std::clamp(inquiry.next_ns(), sys::NowNs() + sys::kNsPerMs, until_ns);
    if (!sys::WaitAny(watched, wake_ns).ok()) sys::SleepNs(sys::kNsPerMs);
    inquiry.Turn(sys::NowNs());
  }
}

ras::Observation Observe(Inquiry& inquiry) {
  std::vector<std::shared_ptr<Subject>> subjects;
  {
    Registry& registry = TheRegistry();
    std::lock_guard lock(registry.mutex);
    subjects = registry.subjects;
  }
  AskOthers(subjects, inquiry);
  ras::Observation observation;
  observation.look = LookAtOwn(subjects, [&](const Subject& subject) {
    AddFinding(subject, observation.findings);
    return true;
  });
  inquiry.AddTo(observation.look, observation.look.taken_ns);
  return observation;
}

// Whether somebody may ask about something. Where it says no, the next communicator finds that nobody serves.
bool GoesOn() {
  Registry& registry = TheRegistry();
  std::lock_guard lock(registry.mutex);
  registry.serves = !registry.subjects.empty();
  return registry.serves;
}

}  // namespace

void StartRas(const std::string& address) {
  Registry& registry = TheRegistry();
  registry.serves = true;
  const Status started = sys::StartDetachedThread("the RAS service", [address] {
    sys::SetThreadName("tutti-ras");
    Inquiry inquiry(Inquiry::Why::kCurious);  // connections to other hosts stay for the next question
    ras::Serve(
        {.address = address,
         .observe = [&] { return Observe(inquiry); },
         .encode = [](const diag::Look& look) { return Encode(JointLook{.machine = sys::HostHash(), .look = look}); },
         .goes_on = GoesOn});
  });
  // `serves` stays: it is not tried again.
  if (!started.ok()) TUTTI_INFO(log::kInit | log::kRas, "{}", started.message());
}

}  // namespace tutti::watch
