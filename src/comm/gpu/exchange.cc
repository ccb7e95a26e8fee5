// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/gpu/exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "comm/host/impl.h"
#include "comm/identity/unique_id.h"
#include "comm/meet/bootstrap.h"
#include "tutti/communicator.h"

namespace tutti::comm {

Status GpuExchange::AgreeOnAll(const Status& own, const char* what) {
  struct Verdict {
    std::int32_t code;
    std::int32_t peer;
    char sentence[504];
  };
  const Core& host = *communicator_.impl();
  Verdict mine{};
  mine.code = static_cast<std::int32_t>(own.code());
  mine.peer = own.peer();
  std::strncpy(mine.sentence, own.message().c_str(), sizeof(mine.sentence) - 1);
  std::vector<Verdict> all(host.ranks);
  if (host.ranks == 1) return own;
  TUTTI_RETURN_IF_ERROR(communicator_.Run({.kind = Collective::kAllGather,
                                           .in = &mine,
                                           .out = all.data(),
                                           .count = sizeof(Verdict),
                                           .type = DataType::kUint8}));
  for (int rank = 0; rank < host.ranks; ++rank) {
    if (all[rank].code == 0) continue;
    if (rank == host.rank) return own;
    return host.InParent(
        Status(static_cast<Code>(all[rank].code), fmt::format("rank {} {}: {}", rank, what, all[rank].sentence), rank));
  }
  return Status::Ok();
}

Status GpuExchange::FindLeast(std::span<const int> own, std::span<int> least) {
  std::ranges::copy(own, least.begin());
  if (communicator_.ranks() == 1) return Status::Ok();
  return communicator_.Run(AllReduce(own, least, ReduceOp::kMin));
}

Status GpuExchange::HandAround(std::span<const std::byte> offer, const sys::Fd& shared, const OnOffer& take) {
  Communicator::Impl& host = *communicator_.impl();
  const Result<UniqueId> id = NextId(host.id, ++host.shared_allocations);
  if (!id.ok()) return id.status();
  Status taken;
  const Status met =
      Meet({.id = *id,
            .rank = host.rank,
            .ranks = host.ranks,
            .timeout_ms = host.settings.init_timeout_ms,
            .payload = offer,
            .shared = shared.valid() ? &shared : nullptr,
            .look = [&host] { return host.FindDead(); }},
           [&](int peer, Member&& member) -> Status {
             if (member.payload.size() != offer.size()) {
               return Status(Code::kRemote,
                             fmt::format("rank {} runs another build of Tutti than rank {}", peer, host.rank), peer);
             }
             const Status s = take(peer, member.payload.data(), member.shared);
             if (taken.ok()) taken = s;
             return Status::Ok();
           });
  return met.ok() ? taken : host.InParent(met);
}

}  // namespace tutti::comm
