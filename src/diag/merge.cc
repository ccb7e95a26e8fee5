// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "diag/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace tutti::diag {
namespace {

void Append(std::vector<Place>& to, const std::vector<Place>& from) {
  for (const Place& place : from) {
    if (std::ranges::find(to, place) == to.end()) to.push_back(place);
  }
}

void Join(Verdict& one, Verdict&& other) {
  Append(one.direct, other.direct);
  Append(one.indirect, other.indirect);
  std::erase_if(one.indirect, [&](const Place& p) { return std::ranges::find(one.direct, p) != one.direct.end(); });
  one.held_ns = std::max(one.held_ns, other.held_ns);
  for (std::string& text : other.reasons) {
    if (std::ranges::find(one.reasons, text) == one.reasons.end()) one.reasons.push_back(std::move(text));
  }
  if (one.remedy.empty()) one.remedy = std::move(other.remedy);
  for (std::string& text : other.evidence) {
    if (std::ranges::find(one.evidence, text) == one.evidence.end()) one.evidence.push_back(std::move(text));
  }
}

// Ranks that owe the same call are told of in one sentence; so is a process that owes calls of several communicators.
std::vector<Verdict> MergeLate(std::vector<Verdict> all) {
  std::vector<Verdict> merged;
  for (Verdict& v : all) {
    if (v.kind != Kind::kLateHost || v.calls.empty()) {
      merged.push_back(std::move(v));
      continue;
    }
    const auto alike = [&](const Verdict& other) {
      if (other.kind != Kind::kLateHost || other.called != v.called || other.excuse != v.excuse) return false;
      const CallOf &one = v.calls.front(), &two = other.calls.front();
      return one.who.communicator == two.who.communicator && one.sequence == two.sequence && one.call == two.call;
    };
    const auto of_process = [&](const Verdict& other) {
      const Place &one = v.culprits.front(), &two = other.culprits.front();
      return other.kind == Kind::kLateHost && one.pid != 0 && one.pid == two.pid && one.host == two.host &&
             one.communicator != two.communicator;
    };
    auto same = std::ranges::find_if(merged, alike);
    if (same != merged.end()) {
      Append(same->culprits, v.culprits);
    } else if (same =
                   std::ranges::find_if(merged, [&](const Verdict& m) { return !m.culprits.empty() && of_process(m); });
               same != merged.end()) {
      std::ranges::copy(v.calls, std::back_inserter(same->calls));
    } else {
      merged.push_back(std::move(v));
      continue;
    }
    Join(*same, std::move(v));
  }
  return merged;
}

}  // namespace

std::string CommonOf(const std::vector<LinkPlace>& links) {
  const auto all = [&](auto&& value) {
    const auto first = value(links.front());
    return std::ranges::all_of(links, [&](const LinkPlace& l) { return value(l) == first; });
  };
  const LinkPlace& l = links.front();
  const auto card = [](const std::string& nic, const std::string& host) {
    return fmt::format("card {} of host {}", nic, host);
  };
  const auto from_card = [](const LinkPlace& p) { return std::pair(p.from.host, p.nic_from); };
  const auto to_card = [](const LinkPlace& p) { return std::pair(p.to.host, p.nic_to); };
  if (!l.nic_from.empty() && all(from_card)) return card(l.nic_from, l.from.host);
  if (!l.nic_to.empty() && all(to_card)) return card(l.nic_to, l.to.host);
  // In both directions of one card or host.
  for (const bool first : {true, false}) {
    const std::string& nic = first ? l.nic_from : l.nic_to;
    const std::string& host = first ? l.from.host : l.to.host;
    const auto has = [&](const LinkPlace& p) {
      return (p.from.host == host && p.nic_from == nic) || (p.to.host == host && p.nic_to == nic);
    };
    if (!nic.empty() && std::ranges::all_of(links, has)) return card(nic, host);
  }
  for (const std::string& host : {l.from.host, l.to.host}) {
    const auto has = [&](const LinkPlace& p) { return p.from.host == host || p.to.host == host; };
    if (!host.empty() && std::ranges::all_of(links, has)) return "host " + host;
  }
  return "";
}

namespace {

// Links of one kind with a card or a host in common are one cause.
std::vector<Verdict> MergeLinks(std::vector<Verdict> all) {
  for (const Kind kind : {Kind::kLinkStalled, Kind::kLinkSlow}) {
    std::vector<LinkPlace> links;
    for (const Verdict& v : all) {
      if (v.kind == kind) links.push_back(v.links.front());
    }
    if (links.size() < 2) continue;
    const std::string common = CommonOf(links);
    if (common.empty()) continue;
    const auto first = std::ranges::find(all, kind, &Verdict::kind);
    for (auto v = first + 1; v != all.end();) {
      if (v->kind != kind) {
        ++v;
        continue;
      }
      Join(*first, std::move(*v));
      v = all.erase(v);
    }
    first->links = links;
    first->common = common;
  }
  return all;
}

// Processes of one communicator that are stopped.
std::vector<Verdict> MergeStopped(std::vector<Verdict> all) {
  std::vector<Verdict> merged;
  for (Verdict& v : all) {
    const auto same = std::ranges::find_if(merged, [&](const Verdict& m) {
      return v.kind == Kind::kStopped && m.kind == Kind::kStopped &&
             m.culprits.front().communicator == v.culprits.front().communicator && m.process->state == v.process->state;
    });
    if (same == merged.end()) {
      merged.push_back(std::move(v));
      continue;
    }
    Append(same->culprits, v.culprits);
    Join(*same, std::move(v));
  }
  return merged;
}

// One link of a GPU to a switch may be what several pairs of ranks suffer from.
std::vector<Verdict> MergeNvLinks(std::vector<Verdict> all) {
  std::vector<Verdict> merged;
  for (Verdict& v : all) {
    const auto same = std::ranges::find_if(merged, [&](const Verdict& m) {
      return v.kind == Kind::kNvLinkFault && m.kind == v.kind && m.without == v.without && m.reasons == v.reasons;
    });
    if (same == merged.end()) {
      merged.push_back(std::move(v));
      continue;
    }
    std::ranges::copy(v.links, std::back_inserter(same->links));
    Join(*same, std::move(v));
  }
  return merged;
}

}  // namespace

std::vector<Verdict> Merge(std::vector<Verdict> verdicts) {
  return MergeStopped(MergeNvLinks(MergeLinks(MergeLate(std::move(verdicts)))));
}

}  // namespace tutti::diag
