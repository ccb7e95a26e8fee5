// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/own_look.h"

#include <algorithm>
#include <mutex>

#include "trace/view.h"
#include "transport/shm/segment.h"
#include "watch/host_look.h"
#include "watch/registry.h"

namespace tutti::watch {

diag::Look LookAtOwn(const std::vector<std::shared_ptr<Subject>>& subjects,
                     const std::function<bool(Subject& subject)>& wanted) {
  HostLook look;
  for (const std::shared_ptr<Subject>& subject : subjects) {
    std::lock_guard lock(subject->mutex);
    if (subject->closed || !wanted(*subject)) continue;
    const bool knows = subject->made.load(std::memory_order_relaxed) || subject->sees.load(std::memory_order_relaxed);
    if (knows) look.Add(subject->pages, subject->missing, subject->silent_place);
  }
  return look.Finish();
}

bool IsWaitedInHere(const Subject& subject) {
  return std::ranges::any_of(subject.pages, [](const RankPages& pages) {
    const Result<trace::View> box = trace::View::Open(pages.begin + transport::shm::kBoxOffset, pages.box_bytes);
    return box.ok() && box->wait().kind != trace::WaitKind::kNothing;
  });
}

std::vector<Inquiry::About> AboutOwn(const std::vector<std::shared_ptr<Subject>>& subjects,
                                     const std::function<bool(Subject& subject)>& wanted) {
  std::vector<Inquiry::About> about;
  for (const std::shared_ptr<Subject>& subject : subjects) {
    std::lock_guard lock(subject->mutex);
    if (subject->closed || subject->abroad == nullptr || !wanted(*subject)) continue;
    const auto lower =
        std::ranges::count_if(subject->pages, [&](const RankPages& p) { return p.rank < subject->terms.rank; });
    about.push_back(
        {.communicator = subject->terms.communicator, .number = static_cast<int>(lower), .abroad = subject->abroad});
  }
  return about;
}

}  // namespace tutti::watch
