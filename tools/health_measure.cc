// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/health_measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <limits>
#include <map>
#include <thread>
#include <utility>

#include "base/words.h"
#include "tools/health_pattern.h"
#include "tools/perf_check.h"
#include "tools/perf_shape.h"

namespace tutti::tools {
namespace {

using Clock = std::chrono::steady_clock;
using doctor::Severity;

constexpr std::size_t kSmallBytes = 4096;  // above the sizes that pass where larger ones are lost
constexpr int kSmallTimes = 20, kLargeTimes = 5, kRingTimes = 4;
constexpr std::size_t kMostConfirmed = 8;
constexpr double kMostUs = 200'000;  // for the repetitions of a transfer: who is that slow need not be asked often
constexpr int kConfirmations = 2;    // what another program does to a machine is often over by then
constexpr std::byte kStale{0xa5};
constexpr std::int64_t kMore = 1, kEnough = 0;  // what a receiver asks for

double UsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

std::uint64_t SeedOf(int from, int to, int round) {
  return static_cast<std::uint64_t>(from) << 40 | static_cast<std::uint64_t>(to) << 16 |
         static_cast<std::uint64_t>(round);
}

}  // namespace

bool Injected::Hits(int from, int to) const {
  if (a < 0) return false;
  return b < 0 ? from == a || to == a : std::minmax(from, to) == std::minmax(a, b);
}

std::optional<Injected> ParseInjected(std::string_view text) {
  std::array<std::string_view, 3> parts;
  for (std::string_view& part : parts) {
    const std::size_t end = std::min(text.find(':'), text.size());
    part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  Injected injected{.corrupts = parts[0].starts_with("corrupt-")};
  const bool link = parts[0].ends_with("-link");
  const std::size_t dash = link ? std::min(parts[1].find('-'), parts[1].size()) : parts[1].size();
  const auto a = ParseNumber<int>(parts[1].substr(0, dash));
  const auto b = link ? ParseNumber<int>(parts[1].substr(std::min(dash + 1, parts[1].size()))) : std::optional(-1);
  const auto delay = injected.corrupts ? std::optional<std::int64_t>(0) : ParseNumber<std::int64_t>(parts[2]);
  const bool known =
      parts[0] == "slow-rank" || parts[0] == "slow-link" || parts[0] == "corrupt-rank" || parts[0] == "corrupt-link";
  if (!known || !a || !b || !delay || *a < 0 || *delay < 0) return std::nullopt;
  injected.a = *a;
  injected.b = *b;
  injected.delay_ms = *delay;
  return injected;
}

void HealthRank::DelayIfInjected(int from, int to) const {
  if (!injected_.corrupts && injected_.Hits(from, to))
    std::this_thread::sleep_for(std::chrono::milliseconds(injected_.delay_ms));
}

Status HealthRank::Once(std::span<const Operation> operations) {
  if (gpu_ != nullptr) {
    TUTTI_RETURN_IF_ERROR(gpu_->Run(operations));
    return gpu_->Wait();
  }
  return operations.size() == 1 ? communicator_.Run(operations[0]) : communicator_.RunGroup(operations);
}

Status HealthRank::Fill(int from, int to, std::size_t bytes, int round) {
  FillPattern(Words(buffers_.first(), bytes), SeedOf(from, to, round));
  if (injected_.corrupts && injected_.Hits(from, to)) buffers_.first()[bytes / 2] ^= std::byte{8};
  return gpu_ != nullptr ? gpu_->CopyIn() : Status::Ok();
}

Status HealthRank::Check(int from, int round, Transfer& transfer) {
  if (gpu_ != nullptr) TUTTI_RETURN_IF_ERROR(gpu_->CopyOut());
  const PatternCheck check =
      CheckPattern(Words(buffers_.second(), transfer.bytes), SeedOf(from, communicator_.rank(), round));
  if (check.wrong_words > transfer.wrong_words) {
    transfer.wrong_words = check.wrong_words;
    transfer.first_wrong = check.first;
    transfer.flipped = check.flipped;
  }
  // What comes next must not be found where it was before.
  std::memset(buffers_.second(), static_cast<int>(kStale), transfer.bytes);
  return Status::Ok();
}

Status HealthRank::Give(int to, std::size_t bytes, int round) {
  TUTTI_RETURN_IF_ERROR(Fill(communicator_.rank(), to, bytes, round));
  const std::array<Operation, 1> send = {Send(std::span(buffers_.first(), bytes), to)};
  while (true) {
    std::array<std::int64_t, 1> asked{};
    TUTTI_RETURN_IF_ERROR(communicator_.Run(Recv(asked, to)));
    if (asked[0] == kEnough) return Status::Ok();
    TUTTI_RETURN_IF_ERROR(Once(send));
  }
}

Result<Transfer> HealthRank::Take(int from, std::size_t bytes, int times, int round) {
  Transfer transfer{.from = from,
                    .to = communicator_.rank(),
                    .round = round,
                    .small = bytes < large_,
                    .bytes = bytes,
                    .us = std::numeric_limits<double>::infinity()};
  const std::array<Operation, 1> receive = {Recv(std::span(buffers_.second(), bytes), from)};
  if (gpu_ != nullptr) {
    std::memset(buffers_.second(), static_cast<int>(kStale), bytes);
    TUTTI_RETURN_IF_ERROR(gpu_->CopyIn());
  }
  const Clock::time_point first = Clock::now();
  for (int i = 0; i < times && UsSince(first) < kMostUs; ++i) {
    std::array<std::int64_t, 1> asks = {kMore};
    const Clock::time_point begin = Clock::now();
    TUTTI_RETURN_IF_ERROR(communicator_.Run(Send(asks, from)));
    DelayIfInjected(from, communicator_.rank());
    TUTTI_RETURN_IF_ERROR(Once(receive));
    transfer.us = std::min(transfer.us, UsSince(begin));
    // Copies from a GPU take longer than transfers: there the last one is checked.
    if (gpu_ == nullptr) TUTTI_RETURN_IF_ERROR(Check(from, round, transfer));
  }
  if (gpu_ != nullptr) TUTTI_RETURN_IF_ERROR(Check(from, round, transfer));
  std::array<std::int64_t, 1> asks = {kEnough};
  TUTTI_RETURN_IF_ERROR(communicator_.Run(Send(asks, from)));
  return transfer;
}

// Both directions, the lower rank's first, of a small and of a large message.
Status HealthRank::Exchange(int a, int b, int round) {
  const int low = std::min(a, b), high = std::max(a, b);
  for (const auto& [bytes, times] : {std::pair(kSmallBytes, kSmallTimes), std::pair(large_, kLargeTimes)}) {
    for (const auto& [from, to] : {std::pair(low, high), std::pair(high, low)}) {
      if (communicator_.rank() == from) {
        TUTTI_RETURN_IF_ERROR(Give(to, bytes, round));
      } else {
        const Result<Transfer> taken = Take(from, bytes, times, round);
        if (!taken.ok()) return taken.status();
        mine_.push_back(*taken);
      }
    }
  }
  return Status::Ok();
}

Status HealthRank::RunPairing(const Pairing& pairing, int round) {
  HealthRound about{.name = "pairs " + pairing.name, .links = {}};
  for (std::size_t rank = 0; rank < pairing.partner.size(); ++rank) {
    if (pairing.partner[rank] >= 0) about.links.emplace_back(pairing.partner[rank], static_cast<int>(rank));
  }
  rounds_.push_back(std::move(about));
  const int partner = pairing.partner[static_cast<std::size_t>(communicator_.rank())];
  if (partner >= 0) {
    TUTTI_RETURN_IF_ERROR(Exchange(communicator_.rank(), partner, round));
  } else {
    mine_.resize(mine_.size() + 2);  // all ranks have lists of one length
  }
  return communicator_.Run(Barrier());
}

Status HealthRank::RunRing(const std::vector<int>& ring, int round) {
  HealthRound about{.name = fmt::format("ring {}", round - first_ring_ + 1), .links = {}};
  std::size_t place = 0;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    about.links.emplace_back(ring[i], ring[(i + 1) % ring.size()]);
    if (ring[i] == communicator_.rank()) place = i;
  }
  rounds_.push_back(std::move(about));
  const int next = ring[(place + 1) % ring.size()], before = ring[(place + ring.size() - 1) % ring.size()];
  Transfer transfer{.from = before,
                    .to = communicator_.rank(),
                    .round = round,
                    .bytes = large_,
                    .us = std::numeric_limits<double>::infinity()};
  const std::array<Operation, 2> both = {Send(std::span(buffers_.first(), large_), next),
                                         Recv(std::span(buffers_.second(), large_), before)};
  std::memset(buffers_.second(), static_cast<int>(kStale), large_);
  TUTTI_RETURN_IF_ERROR(Fill(communicator_.rank(), next, large_, round));
  for (int i = 0; i < kRingTimes; ++i) {
    TUTTI_RETURN_IF_ERROR(communicator_.Run(Barrier()));
    const Clock::time_point begin = Clock::now();
    DelayIfInjected(before, communicator_.rank());
    TUTTI_RETURN_IF_ERROR(Once(both));
    transfer.us = std::min(transfer.us, UsSince(begin));
    if (gpu_ == nullptr || i + 1 == kRingTimes) TUTTI_RETURN_IF_ERROR(Check(before, round, transfer));
  }
  mine_.push_back(transfer);
  return communicator_.Run(Barrier());
}

Result<std::vector<Transfer>> HealthRank::GatherAll() {
  std::vector<Transfer> all(mine_.size() * static_cast<std::size_t>(communicator_.ranks()));
  TUTTI_RETURN_IF_ERROR(
      communicator_.Run(AllGather(std::as_bytes(std::span(mine_)), std::as_writable_bytes(std::span(all)))));
  return all;
}

void HealthRank::CombineRings(std::vector<Transfer>& transfers) const {
  std::map<std::pair<std::int32_t, std::int32_t>, double> seen;  // by round and rank
  for (const Transfer& transfer : transfers) {
    if (transfer.from >= 0 && transfer.round >= first_ring_) seen[{transfer.round, transfer.to}] = transfer.us;
  }
  for (Transfer& transfer : transfers) {
    const auto sender = seen.find({transfer.round, transfer.from});
    if (sender != seen.end()) transfer.us = std::min(transfer.us, sender->second);
  }
}

// The worst pairs again, each alone: who is slow only because others are busy is not to blame.
Result<bool> HealthRank::ConfirmSlow(const HealthShape& shape, const Thresholds& thresholds,
                                     std::vector<Transfer>& transfers) {
  const std::vector<Severity> grades = Grade(transfers, shape, thresholds);
  std::vector<std::pair<double, std::pair<int, int>>> slow;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const Transfer& one = transfers[i];
    if (grades[i] != Severity::kOk)
      slow.push_back({-one.us / std::max(one.expected_us, 1.0), std::minmax(one.from, one.to)});
  }
  std::ranges::sort(slow);
  std::vector<std::pair<int, int>> again;
  for (const auto& [badness, pair] : slow) {
    if (std::ranges::find(again, pair) == again.end() && again.size() < kMostConfirmed) again.push_back(pair);
  }
  mine_.clear();
  const int round = static_cast<int>(rounds_.size());
  for (const auto& [a, b] : again) {
    if (communicator_.rank() == a || communicator_.rank() == b) {
      TUTTI_RETURN_IF_ERROR(Exchange(a, b, round));
    } else {
      mine_.resize(mine_.size() + 2);
    }
    TUTTI_RETURN_IF_ERROR(communicator_.Run(Barrier()));
  }
  if (again.empty()) return false;
  const Result<std::vector<Transfer>> confirmed = GatherAll();
  if (!confirmed.ok()) return confirmed.status();
  for (Transfer& transfer : transfers) {
    for (const Transfer& one : *confirmed) {
      if (one.from != transfer.from || one.to != transfer.to || one.bytes != transfer.bytes) continue;
      transfer.us = std::min(transfer.us, one.us);
      if (one.wrong_words > transfer.wrong_words) {
        transfer.wrong_words = one.wrong_words;
        transfer.first_wrong = one.first_wrong;
        transfer.flipped = one.flipped;
      }
    }
  }
  return true;
}

Result<std::vector<Transfer>> HealthRank::Run(const HealthShape& shape, const Thresholds& thresholds,
                                              const Expect& expect) {
  int round = 0;
  for (const Pairing& pairing : PairingsFor(shape.host_of)) TUTTI_RETURN_IF_ERROR(RunPairing(pairing, round++));
  first_ring_ = round;
  for (const std::vector<int>& ring : RingsFor(communicator_.ranks())) TUTTI_RETURN_IF_ERROR(RunRing(ring, round++));
  Result<std::vector<Transfer>> all = GatherAll();
  if (!all.ok()) return all;
  CombineRings(*all);
  std::erase_if(*all, [](const Transfer& transfer) { return transfer.from < 0; });
  if (communicator_.rank() == 0) {
    for (Transfer& transfer : *all) {
      // Links out of this host that are busy at the same time share its cards. Pairs take turns, so half of them are.
      const HealthRound& about = rounds_[static_cast<std::size_t>(transfer.round)];
      const auto beside = std::ranges::count_if(about.links, [&](const std::pair<int, int>& link) {
        return shape.host_of[static_cast<std::size_t>(link.first)] ==
                   shape.host_of[static_cast<std::size_t>(transfer.from)] &&
               !shape.within(link.first, link.second);
      });
      expect(transfer, std::max(static_cast<int>(beside), 1));
    }
  }
  TUTTI_RETURN_IF_ERROR(communicator_.Run(Broadcast(std::as_writable_bytes(std::span(*all)), 0)));
  for (int i = 0; i < kConfirmations; ++i) {
    const Result<bool> some = ConfirmSlow(shape, thresholds, *all);
    TUTTI_RETURN_IF_ERROR(some.status());
    if (!*some) break;
  }
  return all;
}

Result<HealthRank::Reduced> HealthRank::AllReduceAll(std::size_t bytes) {
  const Work work{.collective = Collective::kAllReduce,
                  .type = DataType::kInt32,
                  .op = ReduceOp::kSum,
                  .root = 0,
                  .rank = communicator_.rank(),
                  .ranks = communicator_.ranks(),
                  .count = bytes / sizeof(std::int32_t)};
  Checker checker;
  double best_us = std::numeric_limits<double>::infinity();
  std::int64_t wrong = 0;
  for (int i = 0; i < kLargeTimes; ++i) {
    const std::uint64_t seed = static_cast<std::uint64_t>(i) + 1;
    FillBuffers(work, Placement::kOutOfPlace, buffers_.first(), buffers_.second(), seed);
    if (gpu_ != nullptr) TUTTI_RETURN_IF_ERROR(gpu_->CopyIn());
    TUTTI_RETURN_IF_ERROR(communicator_.Run(Barrier()));
    const Clock::time_point begin = Clock::now();
    TUTTI_RETURN_IF_ERROR(
        Once(OperationsOf(work, PlaceOf(work, Placement::kOutOfPlace, buffers_.first(), buffers_.second()))));
    best_us = std::min(best_us, UsSince(begin));
    if (gpu_ != nullptr) TUTTI_RETURN_IF_ERROR(gpu_->CopyOut());
    wrong += static_cast<std::int64_t>(
        checker.CountWrong(work, Placement::kOutOfPlace, buffers_.first(), buffers_.second(), seed));
  }
  std::array<double, 1> slowest = {best_us};
  std::array<std::int64_t, 1> all_wrong = {wrong};
  TUTTI_RETURN_IF_ERROR(communicator_.Run(AllReduce(slowest, slowest, ReduceOp::kMax)));
  TUTTI_RETURN_IF_ERROR(communicator_.Run(AllReduce(all_wrong, all_wrong)));
  return Reduced{.us = slowest[0], .wrong = all_wrong[0]};
}

}  // namespace tutti::tools
