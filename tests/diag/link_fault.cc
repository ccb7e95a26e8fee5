// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/diag/link_fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <thread>
#include <utility>

#include "tests/hosts/hosts.h"

namespace tutti::tests {
namespace {

constexpr double kTenth = 0.1, kHalf = 0.4;
constexpr auto kSampled = std::chrono::milliseconds(200), kSampledForRate = std::chrono::milliseconds(1000);

std::string Rate(double mbit) { return fmt::format("{:.0f}kbit", mbit * 1000); }

}  // namespace

void LinkFault::Prepare() {
  for (int host = 0; what_.IsSlowLink() && host < what_.hosts(); ++host) {
    const bool slow = what_.fault == HostFault::kLinkAlways && host == victim_host();
    hosts_.Slow(host, Rate(slow ? kTenth * what_.card_mbit : what_.card_mbit));
  }
}

std::string LinkFault::Begin(const std::vector<pid_t>& pids) {
  switch (what_.fault) {
    case HostFault::kCutOff:
      hosts_.Unplug(victim_host());
      return "";
    case HostFault::kLinkTenth:
      return SlowDown(kTenth);
    case HostFault::kLinkHalf:
      return SlowDown(kHalf);
    case HostFault::kLinkStalled:
      return Stall(pids);
    default:
      return "";
  }
}

// Of what it carries, where that is less than it could: a cable that is never full does not hold a job up at half of its speed.
std::string LinkFault::SlowDown(double part) {
  const auto sent = [&] {
    std::uint64_t bytes = 0;
    for (const Hosts::Connection& c : hosts_.Connections(victim_host())) bytes += c.sent;
    return bytes;
  };
  const std::uint64_t before = sent();
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(kSampledForRate);
  const std::uint64_t bytes = sent() - before;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (bytes == 0) return "no data flow";
  const double used_mbit = static_cast<double>(bytes) * 8e-6 / seconds;
  const double mbit = std::min<double>(what_.card_mbit, used_mbit) * part;
  hosts_.Slow(victim_host(), Rate(mbit));
  chosen_ = fmt::format("{:.0f} of {} Mbit/s were used, {:.1f} are left", used_mbit, what_.card_mbit, mbit);
  return "";
}

// All connections between the two processes between which most is sent, in that direction: a firewall that has forgotten them. What they
// connect anew works.
std::string LinkFault::Stall(const std::vector<pid_t>& pids) {
  using Connection = Hosts::Connection;
  std::map<std::string, pid_t> owner;  // by the own end
  for (int host = 0; host < what_.hosts(); ++host) {
    for (const Connection& c : hosts_.Connections(host)) owner[c.own] = c.pid;
  }
  std::map<std::string, std::uint64_t> before;
  for (const Connection& c : hosts_.Connections(victim_host())) before[c.own + c.peer] = c.sent;
  std::this_thread::sleep_for(kSampled);
  const std::vector<Connection> now = hosts_.Connections(victim_host());
  const auto sent = [&](const Connection& c) { return c.sent - before[c.own + c.peer]; };
  const auto busiest = std::ranges::max_element(now, {}, sent);
  if (busiest == now.end() || sent(*busiest) == 0 || !owner.contains(busiest->peer)) return "no data flow";
  const auto rank_of = [&](pid_t pid) { return static_cast<int>(std::ranges::find(pids, pid) - pids.begin()); };
  const pid_t from = busiest->pid, to = owner[busiest->peer];
  from_ = rank_of(from);
  to_ = rank_of(to);
  if (std::max(from_, to_) == what_.ranks()) return "data flow to somebody else";
  chosen_ = fmt::format("rank {} to rank {}, {} to {}", from_, to_, busiest->own, busiest->peer);
  for (const Connection& c : now) {
    if (c.pid == from && owner[c.peer] == to) hosts_.Block(what_.host_of[static_cast<std::size_t>(to_)], c);
  }
  return "";
}

void LinkFault::End() {
  if (what_.IsSlowLink()) hosts_.Slow(victim_host(), Rate(what_.card_mbit));
}

bool LinkFault::IsBetween(int from, int to) const {
  return (from == from_ && to == to_) || (from == to_ && to == from_);
}

}  // namespace tutti::tests
