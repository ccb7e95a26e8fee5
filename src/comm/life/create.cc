// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/one_line.h"
#include "comm/identity/settings_source.h"
#include "comm/life/creation.h"
#include "sys/os/clock.h"
#include "transport/remote.h"
#include "transport/shm/fabric.h"

namespace tutti {
namespace {

// What is kept of a name: one line of text, as long as the black box has room for.
std::string ShortName(const std::string& name) {
  std::string text = name.substr(0, trace::kNameBytes - 1);
  ReplaceControls(text, '?');
  return text;
}

std::string Describe(const CommunicatorOptions& options) {
  std::string text = fmt::format("rank {} nranks {}", options.rank, options.ranks);
  if (!options.name.empty()) text += fmt::format(" commName \"{}\"", ShortName(options.name));
  return text;
}

Status CheckRanks(const CommunicatorOptions& options) {
  if (options.ranks < 1 || options.rank < 0 || options.rank >= options.ranks) {
    return Status(Code::kInvalidArgument, fmt::format("rank {} of {} ranks: need at least 1 rank and 0 <= rank < ranks",
                                                      options.rank, options.ranks));
  }
  if (options.ranks > kMostRanks) {  // before anything is allocated for each of them
    return Status(
        Code::kInvalidArgument,
        fmt::format("a communicator of {} ranks was asked for; at most {} are possible", options.ranks, kMostRanks));
  }
  return Status::Ok();
}

void LogCreated(const comm::Creation& creation, std::int64_t begin_ns) {
  const Communicator::Impl& c = creation.made;
  TUTTI_INFO(log::kInit,
             "{} commId 0x{:x} channels {} shared memory {} bytes single copy {} cpus {} - Init COMPLETE in {:.2f} ms",
             c.who, c.id_hash, c.fabric == nullptr || c.several_hosts ? 1 : c.fabric->channels(),
             c.fabric == nullptr ? 0 : c.settings.shared_bytes, creation.can_refer ? "yes" : "no", c.cpus,
             static_cast<double>(sys::NowNs() - begin_ns) / sys::kNsPerMs);
}

// Tells the log and the peers why there will be no communicator here; the error as the user is to read it.
Status TellFailure(Communicator::Impl& c, const Status& status) {
  const Status told = c.InParent(status);
  TUTTI_WARN("{} commId 0x{:x} - Init FAILED: {}", c.who, c.id_hash, told.message());
  if (c.fabric != nullptr) {
    c.fabric->own().PublishFailure(status.code(), status.message(), status.peer());
    if (c.fabric->remote() != nullptr) {
      c.fabric->remote()->Tell({.state = transport::RankState::kFailed,
                                .code = status.code(),
                                .culprit = status.peer(),
                                .reason = status.message()});
    }
    c.left = true;
  }
  return told;
}

}  // namespace

Result<Communicator> Communicator::Create(const CommunicatorOptions& options) {
  TUTTI_RETURN_IF_ERROR(CheckRanks(options));
  const std::int64_t begin_ns = sys::NowNs();
  comm::StartLog(options.settings, options.rank);
  auto impl = std::make_shared<Impl>(options, Describe(options), ShortName(options.name));
  comm::Creation creation(*impl, options.cancel);
  if (options.ranks == 1) {
    TUTTI_RETURN_IF_ERROR(creation.RunAlone());
  } else if (const Status s = creation.Run(); !s.ok()) {
    comm::ReportSettings(options.settings);
    return TellFailure(*impl, s);
  }
  LogCreated(creation, begin_ns);
  return Communicator(std::move(impl));
}

}  // namespace tutti
