// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/life/foreigners.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/log.h"
#include "comm/identity/unique_id.h"
#include "comm/meet/bootstrap_attendance.h"
#include "sys/os/process.h"

namespace tutti::comm {
namespace {

// What a rank says of its process, beside the handle.
struct Passport {
  std::uint64_t name_space;
  sys::ProcessId process;
};

}  // namespace

Status WatchForeigners(transport::shm::Fabric& fabric, MeetOptions meeting) {
  const auto is_foreign = [&](int peer) { return peer != fabric.rank() && fabric.process(peer).pid == 0; };
  bool any = false;
  for (int peer = 0; peer < fabric.ranks(); ++peer) any |= is_foreign(peer);
  if (!any) return Status::Ok();

  const Result<sys::Fd> handle = sys::OwnHandle();
  const Passport own = {.name_space = sys::ProcessNamespace(), .process = sys::Self()};
  const std::string_view what = "process handles";
  const UniqueId bare = WithoutPlace(meeting.id);
  meeting.id = DeriveId({std::as_bytes(std::span(bare.bytes)), std::as_bytes(std::span(what))});
  meeting.payload = std::as_bytes(std::span(&own, 1));
  meeting.shared = handle.ok() ? &*handle : nullptr;
  std::map<std::tuple<std::uint64_t, std::int32_t, std::uint64_t>, std::shared_ptr<const sys::Fd>> handles;
  std::vector<int> unwatched;
  const Status met = Meet(meeting, [&](int peer, Member&& member) {
    Passport theirs{};
    if (member.payload.size() != sizeof(theirs)) {
      return Status(Code::kRemote,
                    fmt::format("what rank {} says of its process makes no sense to rank {}: they run different "
                                "builds of Tutti",
                                peer, fabric.rank()),
                    peer);
    }
    if (!is_foreign(peer)) return Status::Ok();
    std::memcpy(&theirs, member.payload.data(), sizeof(theirs));
    auto& kept = handles[{theirs.name_space, theirs.process.pid, theirs.process.start_ticks}];
    if (kept == nullptr && member.shared.valid()) kept = std::make_shared<const sys::Fd>(std::move(member.shared));
    if (kept == nullptr) unwatched.push_back(peer);
    fabric.Watch(peer, kept, theirs.process.pid);
    return Status::Ok();
  });
  if (met.ok() && !unwatched.empty() && log::FirstTime("ranks of other name spaces are not watched")) {
    TUTTI_WARN(
        "{} run in another pid name space, and there pidfd_open does not work (Linux before 5.3, or a sandbox): if "
        "they die, it is noticed when a wait has lasted TUTTI_TIMEOUT_MS",
        NamedRanks(unwatched));
  }
  return met;
}

}  // namespace tutti::comm
