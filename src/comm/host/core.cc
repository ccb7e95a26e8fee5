// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/core.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "comm/host/origin.h"
#include "trace/view.h"
#include "transport/remote.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {

Core::Core(int rank, int ranks, std::string who, const Settings& settings, std::shared_ptr<const Origin> origin)
    : rank(rank), ranks(ranks), who(std::move(who)), settings(settings), origin(std::move(origin)) {}
Core::~Core() = default;

void Core::Break(const Status& status, Wanted wanted) {
  const Status told = InParent(status);
  {
    std::lock_guard lock(failure_mutex_);
    if (!failure_.ok()) return;
    failure_ = told;
    if (fabric != nullptr) {
      recorder.Fail(told.code(), told.message());
      const int culprit = status.peer() >= 0 ? status.peer() : rank;
      fabric->own().PublishFailure(status.code(), status.message(), culprit);
      if (fabric->remote() != nullptr) {
        fabric->remote()->Tell({.state = transport::RankState::kFailed,
                                .code = status.code(),
                                .culprit = culprit,
                                .reason = status.message()});
      }
    }
  }
  broken.store(true, std::memory_order_release);
  if (wanted == Wanted::kNo || log::FirstTime("the program aborts communicators")) {
    TUTTI_WARN("{} is broken: {}", who, told.message());
  } else {
    TUTTI_INFO(log::kInit | log::kDestroy, "{} is broken: {}", who, told.message());
  }
}

void Core::Abort(const std::string& sentence) {
  const Status dead = FindDead();
  Break(dead.ok() ? Status(Code::kRemote, sentence, rank) : dead, Wanted::kYes);
}

Status Core::FindDead() const {
  using transport::shm::RankState;
  for (int peer = 0; peer < ranks && fabric != nullptr; ++peer) {
    const auto said_more = [&] { return fabric->StateOf(peer) >= RankState::kLeft; };
    if (peer == rank || said_more()) continue;
    const std::string why = fabric->WhyGone(peer);
    if (why.empty() || said_more()) continue;
    return Status(Code::kRemote,
                  fmt::format("rank {} (pid {}) {}; look at the log and exit status of that process first", peer,
                              fabric->PidOf(peer), why),
                  peer);
  }
  return Status::Ok();
}

bool Core::ProcessIsDead(int peer) const { return !fabric->WhyGone(peer).empty(); }

Status Core::InParent(const Status& status) const { return origin == nullptr ? status : origin->Translate(status); }

Status Core::Broken() {
  if (!broken.load(std::memory_order_acquire)) return Status::Ok();
  std::lock_guard lock(failure_mutex_);
  return failure_;
}

}  // namespace tutti::comm
