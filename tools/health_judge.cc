// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/health_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "tools/median.h"

namespace tutti::tools {
namespace {

using doctor::Severity;

constexpr double kMostOf = 0.75;           // of a rank's or host's transfers, and of all
constexpr std::size_t kLeastSiblings = 4;  // for a median that means something
constexpr double kSmallUs =
    200;  // a small message that is there in this time is never slow: systems pause threads for as long

// Kinds of transfers that should take equally long.
using Kind = std::tuple<bool, std::int32_t, std::uint64_t>;
Kind KindOf(const Transfer& transfer, const HealthShape& shape) {
  return {shape.within(transfer.from, transfer.to), transfer.small, transfer.bytes};
}

// Whether a culprit takes part in a transfer.
bool TakesPart(const Culprit& culprit, const Transfer& transfer, const HealthShape& shape) {
  const int from = transfer.from, to = transfer.to;
  const int from_host = shape.host_of[static_cast<std::size_t>(from)],
            to_host = shape.host_of[static_cast<std::size_t>(to)];
  switch (culprit.kind) {
    case CulpritKind::kLink:
      return std::minmax(from, to) == std::minmax(culprit.a, culprit.b);
    case CulpritKind::kRank:
      return (culprit.direction != Direction::kIn && from == culprit.a) ||
             (culprit.direction != Direction::kOut && to == culprit.a);
    case CulpritKind::kHostPair:
      return from_host != to_host && std::minmax(from_host, to_host) == std::minmax(culprit.a, culprit.b);
    case CulpritKind::kHost:
      return from_host != to_host && ((culprit.direction != Direction::kIn && from_host == culprit.a) ||
                                      (culprit.direction != Direction::kOut && to_host == culprit.a));
    case CulpritKind::kUnknown:
      return true;
  }
  return false;
}

// All that might be to blame for some of the bad transfers, each once.
std::vector<Culprit> Suspects(std::span<const Transfer> transfers, const std::vector<bool>& bad,
                              const HealthShape& shape) {
  std::set<std::tuple<CulpritKind, int, int>> suspects;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    if (!bad[i]) continue;
    const auto [low, high] = std::minmax(transfers[i].from, transfers[i].to);
    suspects.emplace(CulpritKind::kLink, low, high);
    suspects.emplace(CulpritKind::kRank, low, -1);
    suspects.emplace(CulpritKind::kRank, high, -1);
    const int a = shape.host_of[static_cast<std::size_t>(low)], b = shape.host_of[static_cast<std::size_t>(high)];
    if (a == b) continue;
    suspects.emplace(CulpritKind::kHostPair, std::min(a, b), std::max(a, b));
    suspects.emplace(CulpritKind::kHost, a, -1);
    suspects.emplace(CulpritKind::kHost, b, -1);
  }
  std::vector<Culprit> list;
  for (const auto& [kind, a, b] : suspects) {
    list.push_back({.kind = kind, .a = a, .b = b, .explains = {}});
    if (kind != CulpritKind::kRank && kind != CulpritKind::kHost) continue;
    list.push_back({.kind = kind, .direction = Direction::kOut, .a = a, .b = b, .explains = {}});
    list.push_back({.kind = kind, .direction = Direction::kIn, .a = a, .b = b, .explains = {}});
  }
  return list;
}

// Whether what is known of it lets it be blamed: nearly all that it takes part in is bad, with several others.
bool MayBeBlamed(Culprit& suspect, std::span<const Transfer> transfers, const std::vector<bool>& bad,
                 const HealthShape& shape) {
  int bad_ones = 0;
  std::set<std::pair<int, int>> links;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    if (!TakesPart(suspect, transfers[i], shape)) continue;
    ++suspect.tested;
    if (!bad[i]) continue;
    ++bad_ones;
    links.insert(std::minmax(transfers[i].from, transfers[i].to));
  }
  if (suspect.kind == CulpritKind::kLink) return 2 * bad_ones >= suspect.tested;
  return links.size() >= 2 && bad_ones >= kMostOf * suspect.tested;
}

std::vector<int> Left(const Culprit& suspect, std::span<const Transfer> transfers, const std::vector<bool>& open,
                      const HealthShape& shape) {
  std::vector<int> explained;
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    if (open[i] && TakesPart(suspect, transfers[i], shape)) explained.push_back(static_cast<int>(i));
  }
  return explained;
}

Culprit Nobody(const std::vector<bool>& open) {
  Culprit unknown{.tested = static_cast<int>(open.size())};
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (open[i]) unknown.explains.push_back(static_cast<int>(i));
  }
  return unknown;
}

std::string NameOf(const Culprit& culprit, const HealthShape& shape) {
  const auto rank = [&](int i) { return shape.rank_names[static_cast<std::size_t>(i)]; };
  const auto host = [&](int i) { return shape.host_names[static_cast<std::size_t>(i)]; };
  switch (culprit.kind) {
    case CulpritKind::kLink:
      return fmt::format("the link between {} and {}", rank(culprit.a), rank(culprit.b));
    case CulpritKind::kRank:
      return rank(culprit.a);
    case CulpritKind::kHostPair:
      return fmt::format("the network between hosts {} and {}", host(culprit.a), host(culprit.b));
    case CulpritKind::kHost:
      return fmt::format("host {}", host(culprit.a));
    case CulpritKind::kUnknown:
      return "it is not known who";
  }
  return "";
}

std::string RemedyOf(CulpritKind kind) {
  switch (kind) {
    case CulpritKind::kLink:
      return "it is the link, or both its ends towards each other; compare other partners of both";
    case CulpritKind::kRank:
      return "look at what else runs on its cores, its GPU, PCIe link and card: `tutti doctor` there; or leave it out";
    case CulpritKind::kHostPair:
      return "look at the switches and cables between them";
    case CulpritKind::kHost:
      return "look at its network cards and cables: `tutti doctor` there; or leave it out";
    case CulpritKind::kUnknown:
      return "run it again on the idle machine; if it stays, `tutti doctor` and `tutti expect` may say why";
  }
  return "";
}

// "moves", or what it does in one direction.
std::string_view VerbOf(Direction direction) {
  return direction == Direction::kOut ? "sends" : direction == Direction::kIn ? "receives" : "moves";
}

// The worst of what a culprit explains, by how far it is from what is expected.
const Transfer& WorstOf(const Culprit& culprit, std::span<const Transfer> transfers) {
  const auto slowness = [&](int i) {
    const Transfer& one = transfers[static_cast<std::size_t>(i)];
    return one.us / std::max(one.expected_us, 1e-3);
  };
  return transfers[static_cast<std::size_t>(*std::ranges::max_element(culprit.explains, {}, slowness))];
}

std::string TimeOrSpeed(const Transfer& transfer) {
  if (transfer.small != 0)
    return fmt::format("{:.1f} us for {} bytes where {:.1f} are expected", transfer.us, transfer.bytes,
                       transfer.expected_us);
  const std::string speed = SpeedText(transfer.bytes, transfer.us);
  if (transfer.expected_us <= 0) return speed;
  return fmt::format("{} where {} are expected", speed, SpeedText(transfer.bytes, transfer.expected_us));
}

doctor::Finding SlowFinding(const Culprit& culprit, std::span<const Transfer> transfers,
                            const std::vector<Severity>& grades, const HealthShape& shape, const std::string& memory) {
  Severity severity = Severity::kWarn;
  for (const int i : culprit.explains) severity = std::max(severity, grades[static_cast<std::size_t>(i)]);
  const Transfer& worst = WorstOf(culprit, transfers);
  const bool unknown = culprit.kind == CulpritKind::kUnknown;
  // All may be slow because the model errs: nobody proves that something is broken.
  if (unknown) severity = Severity::kWarn;
  return {.severity = severity,
          .check = "slow",
          .what = unknown ? fmt::format("transfers of {} are slow, and {} is to blame", memory, NameOf(culprit, shape))
                          : fmt::format("{} {} {} slowly", NameOf(culprit, shape), VerbOf(culprit.direction), memory),
          .evidence = fmt::format("{} of its {} transfers; the worst is rank {} to rank {}: {}",
                                  culprit.explains.size(), culprit.tested, worst.from, worst.to, TimeOrSpeed(worst)),
          .remedy = RemedyOf(culprit.kind),
          .host = ""};
}

doctor::Finding WrongFinding(const Culprit& culprit, std::span<const Transfer> transfers, const HealthShape& shape,
                             const std::string& memory) {
  const Transfer& first = transfers[static_cast<std::size_t>(culprit.explains.front())];
  std::uint64_t words = 0;
  for (const int i : culprit.explains) words += transfers[static_cast<std::size_t>(i)].wrong_words;
  return {
      .severity = Severity::kCritical,
      .check = "corrupt",
      .what = culprit.kind == CulpritKind::kUnknown
                  ? fmt::format("transfers of {} arrive changed, and {} is to blame", memory, NameOf(culprit, shape))
                  : fmt::format("{} changes data of {} that it {}", NameOf(culprit, shape), memory,
                                VerbOf(culprit.direction)),
      .evidence =
          fmt::format("{} of its {} transfers, {} words; rank {} to rank {}: word {} of {} bytes differs by {:#x}",
                      culprit.explains.size(), culprit.tested, words, first.from, first.to, first.first_wrong,
                      first.bytes, first.flipped),
      .remedy = "leave it out: results are wrong; then test memory, GPU and card of these hosts",
      .host = ""};
}

}  // namespace

std::string SpeedText(std::uint64_t bytes, double us) {
  constexpr double kLittle = 0.1;
  const double gb_per_s = us > 0 ? static_cast<double>(bytes) / us / 1e3 : 0;
  return gb_per_s < kLittle ? fmt::format("{:.2f} MB/s", gb_per_s * 1e3) : fmt::format("{:.2f} GB/s", gb_per_s);
}

std::vector<Severity> Grade(std::span<const Transfer> transfers, const HealthShape& shape,
                            const Thresholds& thresholds) {
  std::map<Kind, std::vector<double>> times;
  for (const Transfer& transfer : transfers) times[KindOf(transfer, shape)].push_back(transfer.us);
  std::map<Kind, double> medians;
  for (auto& [kind, list] : times) medians[kind] = list.size() < kLeastSiblings ? 0 : MedianOf(list);
  std::vector<Severity> grades;
  for (const Transfer& transfer : transfers) {
    double normal_us = std::numeric_limits<double>::infinity();
    if (transfer.expected_us > 0) normal_us = transfer.expected_us * (1 + transfer.expected_error);
    // A small message's time is the system's more than the link's.
    const double median_us = medians[KindOf(transfer, shape)];
    if (median_us > 0) normal_us = std::min(normal_us, median_us);
    if (transfer.small != 0) normal_us = std::max(normal_us, kSmallUs * thresholds.warn);
    const double fraction = normal_us / std::max(transfer.us, 1e-3);
    grades.push_back(fraction < thresholds.critical ? Severity::kCritical
                     : fraction < thresholds.warn   ? Severity::kWarn
                                                    : Severity::kOk);
  }
  return grades;
}

std::vector<Culprit> FindCulprits(std::span<const Transfer> transfers, const std::vector<bool>& bad,
                                  const HealthShape& shape) {
  std::vector<Culprit> culprits;
  std::vector<bool> open = bad;
  auto left = static_cast<std::size_t>(std::ranges::count(open, true));
  if (left == 0) return culprits;
  if (shape.host_of.size() > 2 && static_cast<double>(left) >= kMostOf * static_cast<double>(transfers.size()))
    return {Nobody(open)};
  std::vector<Culprit> suspects = Suspects(transfers, bad, shape);
  std::erase_if(suspects, [&](Culprit& suspect) { return !MayBeBlamed(suspect, transfers, bad, shape); });
  // The narrower ones come first, so they win where several explain as much.
  std::ranges::stable_sort(suspects, {}, &Culprit::kind);
  while (left > 0) {
    Culprit* best = nullptr;
    for (Culprit& suspect : suspects) {
      suspect.explains = Left(suspect, transfers, open, shape);
      if (!suspect.explains.empty() && (best == nullptr || suspect.explains.size() > best->explains.size()))
        best = &suspect;
    }
    if (best == nullptr) break;
    for (const int i : best->explains) open[static_cast<std::size_t>(i)] = false;
    left -= best->explains.size();
    culprits.push_back(*best);
  }
  if (left > 0) culprits.push_back(Nobody(open));
  return culprits;
}

namespace {

std::vector<Transfer> OfSize(std::span<const Transfer> transfers, bool small) {
  std::vector<Transfer> some;
  std::ranges::copy_if(transfers, std::back_inserter(some),
                       [&](const Transfer& one) { return (one.small != 0) == small; });
  return some;
}

std::vector<bool> AreBad(const std::vector<Severity>& grades) {
  std::vector<bool> bad;
  for (const Severity grade : grades) bad.push_back(grade != Severity::kOk);
  return bad;
}

// Of transfers of one size: who is slow. Where most are, that is said; and who is slow beside the others. `named`: who
// was slow with another size, and so explains what else is.
std::vector<Culprit> SlowOnes(std::span<const Transfer> transfers, const HealthShape& shape,
                              const Thresholds& thresholds, const std::vector<Culprit>& named) {
  std::vector<bool> bad = AreBad(Grade(transfers, shape, thresholds));
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    bad[i] =
        bad[i] && std::ranges::none_of(named, [&](const Culprit& one) { return TakesPart(one, transfers[i], shape); });
  }
  std::vector<Culprit> culprits = FindCulprits(transfers, bad, shape);
  const auto all = static_cast<double>(transfers.size());
  if (culprits.empty() || culprits[0].kind != CulpritKind::kUnknown ||
      static_cast<double>(culprits[0].explains.size()) < kMostOf * all) {
    return culprits;
  }
  std::vector<Transfer> unexpected(transfers.begin(), transfers.end());
  for (Transfer& transfer : unexpected) transfer.expected_us = 0;
  for (Culprit& culprit : FindCulprits(unexpected, AreBad(Grade(unexpected, shape, thresholds)), shape)) {
    if (culprit.kind != CulpritKind::kUnknown) culprits.push_back(std::move(culprit));
  }
  return culprits;
}

}  // namespace

doctor::Findings JudgeTransfers(std::span<const Transfer> transfers, const HealthShape& shape,
                                const Thresholds& thresholds, const std::string& memory) {
  doctor::Findings findings;
  std::vector<bool> wrong;
  for (const Transfer& transfer : transfers) wrong.push_back(transfer.wrong_words > 0);
  for (const Culprit& culprit : FindCulprits(transfers, wrong, shape))
    findings.push_back(WrongFinding(culprit, transfers, shape, memory));
  std::vector<Culprit> named;
  for (const bool small : {false, true}) {
    const std::vector<Transfer> some = OfSize(transfers, small);
    const std::vector<Severity> grades = Grade(some, shape, thresholds);
    const std::vector<Culprit> culprits = SlowOnes(some, shape, thresholds, named);
    for (const Culprit& culprit : culprits) findings.push_back(SlowFinding(culprit, some, grades, shape, memory));
    named.insert(named.end(), culprits.begin(), culprits.end());
  }
  if (findings.empty()) {
    findings.push_back(
        {.check = "health",
         .what = fmt::format("all ranks move {} as fast as expected, and nothing is changed on the way", memory),
         .evidence = fmt::format("{} transfers", transfers.size())});
  }
  return findings;
}

}  // namespace tutti::tools
