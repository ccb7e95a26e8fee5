// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/origin.h"

#include <fmt/format.h>

#include "transport/shm/fabric.h"

namespace tutti::comm {

std::shared_ptr<const Origin> Origin::Of(const transport::shm::Fabric* parent, std::span<const int> ranks,
                                         Numbers numbers) {
  return OfPart(parent, ranks, numbers, 0);
}

std::shared_ptr<const Origin> Origin::OfPart(const transport::shm::Fabric* parent, std::span<const int> ranks,
                                             Numbers numbers, std::uint64_t whole) {
  auto origin = std::make_shared<Origin>();
  origin->numbers_ = numbers;
  origin->whole_ = whole;
  origin->self_ = sys::Self();
  for (const int rank : ranks) {
    Place place{.rank = rank};
    if (parent != nullptr && rank != parent->rank()) {
      place.process = parent->process(rank);
      place.handle = parent->HandleOf(rank);
      place.pid = parent->PidOf(rank);
    }
    origin->places_.push_back(std::move(place));
  }
  return origin;
}

Status Origin::FindDead() const {
  for (std::size_t rank = 0; rank < places_.size(); ++rank) {
    const Place& place = places_[rank];
    if (place.handle == nullptr && (place.process.pid == 0 || place.process == self_)) continue;
    const sys::Liveness liveness =
        place.handle != nullptr ? sys::ProbeHandle(*place.handle) : sys::ProbeProcess(place.process);
    if (liveness != sys::Liveness::kDead) continue;
    return Status(
        Code::kRemote,
        fmt::format("rank {} (pid {}) died before the ranks had met. Its own output should say why", rank, place.pid),
        static_cast<int>(rank));
  }
  return Status::Ok();
}

Status Origin::Translate(const Status& status) const {
  const int peer = status.peer();
  if (numbers_ == Numbers::kKept || peer < 0 || peer >= static_cast<int>(places_.size())) return status;
  const std::string translation =
      fmt::format("rank {} here is rank {} of the communicator that this one was made from", peer, places_[peer].rank);
  if (status.message().find(translation) != std::string::npos) return status;
  return Status(status.code(), fmt::format("{}; {}", status.message(), translation), peer);
}

}  // namespace tutti::comm
