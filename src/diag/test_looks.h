// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_DIAG_TEST_LOOKS_H_
#define TUTTI_DIAG_TEST_LOOKS_H_

// Looks at jobs that were never run, written by hand for tests.

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "diag/verdict.h"

namespace tutti::diag {

inline trace::Call AllReduceOf(std::uint64_t count) {
  return {.word = trace::PackCall({.kind = Collective::kAllReduce, .type = DataType::kFloat32}), .count = count};
}
inline trace::Call CallTo(Collective kind, int peer, std::uint64_t count = 8) {
  return {.word = trace::PackCall({.kind = kind, .type = DataType::kFloat32, .root = peer}), .count = count};
}

// A job with a process for each rank, pids from 100, on host "a", whose ranks have run ten all_reduces and are idle.
class Job {
 public:
  static constexpr std::int64_t kNow = 1000 * kSecond;

  explicit Job(int ranks) {
    now.taken_ns = kNow;
    now.taken_unix_ns = kNow + 7200 * kSecond;  // 02:16:40 of some day
    now.hosts.push_back({.name = "a"});
    for (int r = 0; r < ranks; ++r) {
      now.processes.push_back({.host = "a", .pid = 100 + r, .name = "train", .state = ProcessState::kSleeping});
    }
    Add(ranks);
  }

  // One more communicator of the same processes, in the same order.
  int Add(int ranks) {
    CommunicatorLook c{
        .id = 0xc0 + now.communicators.size(), .name = now.communicators.empty() ? "dp" : "tp", .ranks = ranks};
    c.window = {128, 256, 32};
    for (int r = 0; r < ranks; ++r) {
      RankLook rank{.rank = r, .process = r, .state = RankState::kReady, .thread = 100 + r, .created_ns = kSecond};
      rank.called = rank.finished = rank.sequence = rank.finished_sequence = 10;
      rank.history.push_back({.first = 1, .last = 10, .call = AllReduceOf(1024)});
      c.seen.push_back(rank);
    }
    now.communicators.push_back(c);
    return static_cast<int>(now.communicators.size()) - 1;
  }

  RankLook& rank(int r, int c = 0) {
    auto& seen = now.communicators[static_cast<std::size_t>(c)].seen;
    return *std::ranges::find(seen, r, &RankLook::rank);
  }
  ProcessLook& process(int r) { return now.processes[static_cast<std::size_t>(r)]; }
  CommunicatorLook& communicator(int c = 0) { return now.communicators[static_cast<std::size_t>(c)]; }

  // The rank is in its eleventh all_reduce, and waits for nobody.
  void Call(int r, int c = 0) {
    RankLook& rank = this->rank(r, c);
    if (rank.inside()) return;
    const trace::Call call = rank.history.front().call;
    rank.called = rank.sequence = rank.finished + 1;
    rank.history.front().last = rank.sequence;
    rank.running = {.number = rank.called, .sequence = rank.sequence, .call = call, .protocol = 0};
  }
  // It waits in it.
  void Wait(int r, int peer, double seconds, int c = 0, trace::WaitKind kind = trace::WaitKind::kData) {
    Call(r, c);
    RankLook& rank = this->rank(r, c);
    const std::int64_t since_ns = kNow - static_cast<std::int64_t>(seconds * 1e9);
    rank.wait = {.kind = kind,
                 .peer = peer,
                 .number = rank.called,
                 .since_ns = since_ns,
                 .looked_ns = kNow - 10 * kMs,
                 .thread = rank.thread,
                 .inside = true,
                 .longest_ns = rank.wait.longest_ns};
  }
  // All but these wait for data of the rank before them on a ring.
  void WaitOnRing(double seconds, const std::vector<int>& but = {}, int c = 0) {
    const int ranks = communicator(c).ranks;
    for (int r = 0; r < ranks; ++r) {
      if (std::ranges::find(but, r) == but.end()) Wait(r, (r + ranks - 1) % ranks, seconds, c);
    }
  }
  // It waits in a send or receive, the index-th with that peer.
  void WaitInTransfer(int r, Collective kind, int peer, std::uint64_t index, double seconds, int c = 0) {
    Wait(r, peer, seconds, c, kind == Collective::kRecv ? trace::WaitKind::kData : trace::WaitKind::kRoom);
    RankLook& rank = this->rank(r, c);
    rank.sequence = rank.history.front().last = 10;
    rank.running = {.number = rank.called, .sequence = index, .call = CallTo(kind, peer), .protocol = 2};
    Transferred(r, kind, peer, index, c);
  }
  // It has called that many sends or receives with the peer.
  void Transferred(int r, Collective kind, int peer, std::uint64_t calls, int c = 0) {
    std::vector<RankLook::Transfers>& all = rank(r, c).transfers;
    auto found = std::ranges::find(all, peer, &RankLook::Transfers::peer);
    if (found == all.end()) found = all.insert(all.end(), {.peer = peer});
    (kind == Collective::kSend ? found->sends : found->receives) = calls;
  }
  // Counters of the edge, in LL's units.
  void Edge(int from, int to, std::uint64_t sent, std::uint64_t received, std::uint64_t credit, int c = 0) {
    LinkOf(from, to, c).sent[0] = sent;
    LinkOf(from, to, c).credit[0] = credit;
    LinkOf(to, from, c).received[0] = received;
  }
  LinkLook& LinkOf(int r, int peer, int c = 0) {
    std::vector<LinkLook>& links = rank(r, c).links;
    auto found = std::ranges::find(links, peer, &LinkLook::peer);
    if (found == links.end()) found = links.insert(links.end(), {.peer = peer});
    return *found;
  }
  // Every rank on a host of its own.
  void Spread(int c = 0) {
    for (RankLook& rank : communicator(c).seen) {
      rank.island = rank.rank;
      process(rank.rank).host = "node" + std::to_string(rank.rank);
    }
  }

  // The same 0.2 s before, as far as `change` does not say otherwise.
  Look Before(const std::function<void(Look&)>& change = {}) const {
    Look before = now;
    before.taken_ns -= 200 * kMs;
    before.taken_unix_ns -= 200 * kMs;
    for (CommunicatorLook& c : before.communicators) {
      for (RankLook& rank : c.seen) rank.wait.looked_ns -= 200 * kMs;
    }
    if (change) change(before);
    return before;
  }
  std::vector<Verdict> Judged(const std::function<void(Look&)>& change = {}, const Rules& rules = {}) const {
    return Judge(Before(change), now, rules);
  }

  Look now;
};

}  // namespace tutti::diag

#endif  // TUTTI_DIAG_TEST_LOOKS_H_
