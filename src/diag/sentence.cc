// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "diag/sentence.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "diag/what.h"

namespace tutti::diag {
namespace {

// Who waits, in the numbers of the culprit's communicator; ranks that are in it under other numbers only are counted.
std::string Waiting(const Verdict& v) {
  std::vector<Place> all = v.direct;
  all.insert(all.end(), v.indirect.begin(), v.indirect.end());
  const std::uint64_t home = !v.culprits.empty() ? v.culprits.front().communicator
                             : !v.links.empty()  ? v.links.front().from.communicator
                                                 : all.front().communicator;
  std::vector<int> ranks;
  std::size_t others = 0;
  for (const Place& p : all) {
    if (p.communicator == home) {
      ranks.push_back(p.rank);
    } else {
      ++others;
    }
  }
  if (ranks.empty()) return fmt::format("{} rank{} of other communicators", others, others == 1 ? "" : "s");
  std::string text = RankList(ranks);
  if (others > 0) text += fmt::format(" and {} of other communicators", others);
  return text;
}

std::string Subject(const Place& p) { return fmt::format("{:x}.{}.{}", p.communicator, p.rank, p.pid); }

// Whether all of them go from one host to others.
bool LeaveOneHost(const std::vector<LinkPlace>& links) {
  return !links.empty() && std::ranges::all_of(links, [&](const LinkPlace& l) {
    return !l.from.host.empty() && l.from.host == links.front().from.host && l.to.host != l.from.host;
  });
}

}  // namespace

std::string Effect(const Verdict& v) {
  if (v.direct.empty() && v.indirect.empty()) return "";
  const bool one = v.direct.size() + v.indirect.size() == 1;
  std::string text = Waiting(v);
  if (v.held_ns <= 0) return text + (one ? " has been told" : " have been told");
  text += fmt::format(" {} waited for {}", one ? "has" : "have", Duration(v.held_ns));
  if (v.since_unix_ns > 0) text += ", since " + TimeOfDay(v.since_unix_ns);
  return text;
}

std::string Sentence(const Verdict& v) {
  std::string text = What(v);
  if (const std::string effect = Effect(v); !effect.empty()) text += "; " + effect;
  return text + ". " + NextStep(v);
}

std::string Subject(const Verdict& v) {
  // The system adds up what a rank has lacked of the cores from time to time only: some looks do not show it. What NVLinks say comes later
  // than that a GPU hangs.
  const bool was_gpu = v.kind == Kind::kNvLinkFault && (v.without == Kind::kGpuHung || v.without == Kind::kGpuSlow);
  std::string text = Name(v.kind == Kind::kStarved ? Kind::kLateHost : was_gpu ? v.without : v.kind);
  std::vector<std::string> about;
  for (const Place& p : v.culprits) about.push_back(Subject(p));
  if (was_gpu) {
    for (const LinkPlace& l : v.links) about.push_back(Subject(l.from));
  } else if (v.kind == Kind::kNvLinkFault) {
    // Which pairs of GPUs wait for it changes from look to look.
    return fmt::format("{}|{}|{:x}|{}", text, v.links.front().from.host, v.links.front().from.communicator, v.common);
  }
  if (v.kind == Kind::kLinkSlow && LeaveOneHost(v.links)) {
    // Which of them are slow enough changes from second to second.
    return fmt::format("{}|{}|{:x}", text, v.links.front().from.host, v.links.front().from.communicator);
  }
  if (!was_gpu) {
    for (const LinkPlace& l : v.links) about.push_back(fmt::format("{}>{}", Subject(l.from), Subject(l.to)));
  }
  if (about.empty() && !v.direct.empty()) about.push_back(fmt::format("{:x}", v.direct.front().communicator));
  std::ranges::sort(about);
  for (const std::string& a : about) text += "|" + a;
  return text;
}

}  // namespace tutti::diag
