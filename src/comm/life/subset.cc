// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/life/subset.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/host/child_id.h"
#include "comm/host/impl.h"
#include "comm/host/origin.h"
#include "comm/identity/unique_id.h"
#include "comm/meet/bootstrap.h"

namespace tutti::comm {
namespace {

using sys::Bytes;

// What a rank tells the others of a split.
struct Choice {
  std::int64_t color;  // -1: none; colors are 0 or more
  std::int64_t key;
};

std::vector<int> AllRanks(int ranks) {
  std::vector<int> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Over the parent's links or, where they are broken and shall not be used, in a meeting under an id of its own.
Status GatherChoices(Communicator& c, int generation, const Choice& mine, WhereBroken where_broken,
                     const std::atomic<bool>* cancel, std::vector<Choice>& all) {
  Communicator::Impl& impl = *c.impl();
  if (where_broken == WhereBroken::kFail || !impl.broken.load(std::memory_order_acquire)) {
    TUTTI_RETURN_IF_ERROR(impl.Broken());
    return c.Run({.kind = Collective::kAllGather,
                  .in = &mine,
                  .out = all.data(),
                  .count = sizeof(Choice),
                  .type = DataType::kUint8});
  }
  const std::shared_ptr<const Origin> origin =
      Origin::Of(impl.fabric.get(), AllRanks(impl.ranks), Origin::Numbers::kKept);
  const Result<UniqueId> id = ChildId(impl, fmt::format("choices {}", generation), 0);
  if (!id.ok()) return id.status();
  return impl.InParent(Meet({.id = *id,
                             .rank = impl.rank,
                             .ranks = impl.ranks,
                             .timeout_ms = impl.settings.init_timeout_ms,
                             .payload = std::as_bytes(std::span(&mine, 1)),
                             .cancel = cancel,
                             .look = [&] { return origin->FindDead(); }},
                            [&](int rank, Member&& member) {
                              if (member.payload.size() != sizeof(Choice)) {
                                return Status(Code::kRemote, fmt::format("rank {} runs another build of Tutti", rank),
                                              rank);
                              }
                              std::memcpy(&all[rank], member.payload.data(), sizeof(Choice));
                              return Status::Ok();
                            }));
}

}  // namespace

Result<std::optional<CommunicatorOptions>> Split(Queue& parent, std::optional<int> color, int key,
                                                 WhereBroken where_broken, const std::atomic<bool>* cancel) {
  if (color && *color < 0) {
    return Status(Code::kInvalidArgument, fmt::format("split on rank {}: color {} is negative", parent.rank(), *color));
  }
  (void)parent.Wait();
  std::optional<CommunicatorOptions> child;
  const Status s = parent.WithCommunicator([&](Communicator& c) -> Status {
    Communicator::Impl& impl = *c.impl();
    const int generation = impl.children++;
    std::vector<Choice> all(impl.ranks);
    TUTTI_RETURN_IF_ERROR(
        GatherChoices(c, generation, {.color = color ? *color : -1, .key = key}, where_broken, cancel, all));
    if (!color) return Status::Ok();
    std::vector<int> members;
    for (int rank = 0; rank < impl.ranks; ++rank) {
      if (all[rank].color == *color) members.push_back(rank);
    }
    std::ranges::stable_sort(members, {}, [&](int rank) { return all[rank].key; });
    const Result<UniqueId> id = ChildId(impl, fmt::format("split {} color {}", generation, *color), members.front());
    if (!id.ok()) return id.status();
    child = CommunicatorOptions{.rank = static_cast<int>(std::ranges::find(members, impl.rank) - members.begin()),
                                .ranks = static_cast<int>(members.size()),
                                .id = *id,
                                .settings = impl.settings,
                                .origin = Origin::Of(impl.fabric.get(), members, Origin::Numbers::kNew)};
    return Status::Ok();
  });
  if (!s.ok()) return s;
  return child;
}

Status CheckShrink(int rank, int ranks, std::span<const int> excluded) {
  std::set<int> seen;
  for (const int out : excluded) {
    if (out < 0 || out >= ranks) {
      return Status(Code::kInvalidArgument, fmt::format("shrink on rank {}: {} is not a rank; the communicator has "
                                                        "ranks 0 to {}",
                                                        rank, out, ranks - 1));
    }
    if (!seen.insert(out).second) {
      return Status(Code::kInvalidArgument, fmt::format("shrink on rank {}: rank {} is listed twice", rank, out));
    }
  }
  if (!seen.contains(rank)) return Status::Ok();
  return Status(Code::kInvalidArgument,
                fmt::format("shrink on rank {}: it is listed among the ranks to leave out; only those that stay may "
                            "call",
                            rank));
}

Result<CommunicatorOptions> Shrink(Communicator& parent, std::span<const int> excluded) {
  TUTTI_RETURN_IF_ERROR(CheckShrink(parent.rank(), parent.ranks(), excluded));
  Communicator::Impl& impl = *parent.impl();
  const std::set<int> out(excluded.begin(), excluded.end());
  const auto before = std::ranges::count_if(out, [&](int rank) { return rank < impl.rank; });
  std::vector<int> stay = AllRanks(impl.ranks);
  std::erase_if(stay, [&](int rank) { return out.contains(rank); });
  const std::string without = fmt::format("{}", fmt::join(out, ","));
  const Result<UniqueId> id =
      ChildId(impl, fmt::format("shrink {} without {}", impl.shrinks[without]++, without), stay.front());
  if (!id.ok()) return id.status();
  return CommunicatorOptions{.rank = impl.rank - static_cast<int>(before),
                             .ranks = static_cast<int>(stay.size()),
                             .id = *id,
                             .settings = impl.settings,
                             .origin = Origin::Of(impl.fabric.get(), stay, Origin::Numbers::kNew)};
}

Result<CommunicatorOptions> Shrink(Queue& parent, std::span<const int> excluded) {
  CommunicatorOptions options;
  TUTTI_RETURN_IF_ERROR(CheckShrink(parent.rank(), parent.ranks(), excluded));
  const Status s = parent.WithCommunicator([&](Communicator& c) -> Status {
    Result<CommunicatorOptions> made = Shrink(c, excluded);
    if (made.ok()) options = std::move(*made);
    return made.status();
  });
  if (!s.ok()) return s;
  return options;
}

Result<CommunicatorOptions> Grow(Queue& parent, int ranks, const UniqueId* id) {
  if (ranks <= parent.ranks()) {
    return Status(Code::kInvalidArgument, fmt::format("grow on rank {}: from {} ranks to {}: the number must be larger",
                                                      parent.rank(), parent.ranks(), ranks));
  }
  struct Offer {
    std::uint64_t has;
    UniqueId id;
  };
  CommunicatorOptions options{.rank = parent.rank(), .ranks = ranks};
  const Status s = parent.WithIdle([&](Communicator& c) -> Status {
    const Offer mine{.has = id != nullptr ? 1u : 0u, .id = id != nullptr ? *id : UniqueId{}};
    std::vector<Offer> all(c.ranks());
    TUTTI_RETURN_IF_ERROR(c.Run({.kind = Collective::kAllGather,
                                 .in = &mine,
                                 .out = all.data(),
                                 .count = sizeof(Offer),
                                 .type = DataType::kUint8}));
    const auto first = std::ranges::find_if(all, [](const Offer& offer) { return offer.has != 0; });
    if (first == all.end()) {
      return Status(Code::kInvalidArgument,
                    fmt::format("grow on rank {}: no rank of the old communicator passed the id that the new ranks "
                                "have; one of them must",
                                c.rank()));
    }
    options.id = first->id;
    options.settings = c.impl()->settings;
    options.origin = Origin::Of(c.impl()->fabric.get(), AllRanks(c.ranks()), Origin::Numbers::kKept);
    return Status::Ok();
  });
  if (!s.ok()) return s;
  return options;
}

UniqueId CombineIds(std::span<const UniqueId> ids) {
  // A process that made an id awaits the hosts of that id alone, and it need be no rank, which would know of the others.
  const auto has_place = [](const UniqueId& id) {
    const Result<IdParts> parts = ReadId(id);
    return parts.ok() && !parts->addresses.empty();
  };
  const auto first = std::ranges::find_if(ids, has_place);
  return first == ids.end() ? ids.front() : *first;
}

}  // namespace tutti::comm

namespace tutti {

Result<Communicator> Communicator::Shrink(std::span<const int> excluded) {
  Result<CommunicatorOptions> options = comm::Shrink(*this, excluded);
  if (!options.ok()) return options.status();
  options->name = impl_->name;
  return Create(*options);
}

}  // namespace tutti
