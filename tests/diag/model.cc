// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/diag/model.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace tutti::tests {

using diag::kMs;
using trace::WaitKind;

const char* Name(Shape shape) {
  constexpr const char* kNames[] = {"ring", "tree", "pairwise"};
  return kNames[static_cast<int>(shape)];
}

Model::Model(const ModelOptions& options) : options_(options) {
  for (int r = 0; r < options.ranks; ++r) {
    ranks_.emplace_back();
    ranks_.back().speed = options.rank_speed;
    MakeProgram(r);
    for (const Step& step : ranks_.back().program) {
      if (step.send) LinkOf(r, step.peer).speed = options.link_speed;
    }
  }
}

// One round of an operation.
void Model::MakeProgram(int rank) {
  std::vector<Step>& program = ranks_[Index(rank)].program;
  const int n = options_.ranks;
  switch (options_.shape) {
    case Shape::kRing:
      for (int step = 0; step < 2 * (n - 1); ++step) {
        program.push_back({true, (rank + 1) % n});
        program.push_back({false, (rank + n - 1) % n});
      }
      break;
    case Shape::kTree: {
      std::vector<int> children;
      for (const int child : {2 * rank + 1, 2 * rank + 2}) {
        if (child < n) children.push_back(child);
      }
      const int parent = (rank - 1) / 2;
      for (const int child : children) program.push_back({false, child});
      if (rank != 0) program.push_back({true, parent});
      if (rank != 0) program.push_back({false, parent});
      for (const int child : children) program.push_back({true, child});
      break;
    }
    case Shape::kPairwise:
      for (int distance = 1; distance < n; ++distance) {
        program.push_back({true, (rank + distance) % n});
        program.push_back({false, (rank + n - distance) % n});
      }
      break;
  }
}

void Model::Run(int ms) {
  for (int i = 0; i < ms; ++i) Tick();
}

void Model::Tick() {
  ++now_ms_;
  for (auto& [ends, link] : links_) {
    link.arrived = std::min(static_cast<double>(link.sent), link.arrived + link.speed);
    if (link.tells) link.credit = std::min(static_cast<double>(link.received), link.credit + options_.link_speed);
  }
  for (int r = 0; r < options_.ranks; ++r) Advance(r);
}

void Model::Advance(int r) {
  Rank& rank = ranks_[Index(r)];
  if (!rank.runs) return;
  rank.budget = std::min(rank.budget + rank.speed, std::max(rank.speed, 1.0));
  if (rank.called == rank.finished) {
    if (rank.late) return;
    ++rank.called;
    rank.step = 0, rank.unit = 0, rank.round = 0, rank.done = 0;
  }
  if (rank.started < rank.called) {
    if (!rank.starts) return;
    rank.started = rank.called;
  }
  while (Move(r)) {
    if (rank.budget < 1) {  // it could, if it were faster
      if (rank.waits.kind != WaitKind::kNothing) rank.shown = CountersOf(r);
      rank.waits = {};
      break;
    }
    if (rank.waits.kind != WaitKind::kNothing) rank.shown = CountersOf(r);
    rank.budget -= 1;
    const Step& step = rank.program[rank.step];
    step.send ? ++LinkOf(r, step.peer).sent : ++LinkOf(step.peer, r).received;
    rank.waits = {};
    ++rank.done;
    if (++rank.unit < options_.units) continue;
    rank.unit = 0;
    if (++rank.step < rank.program.size()) continue;
    rank.step = 0;
    if (++rank.round < options_.rounds) continue;
    rank.finished = rank.called;
    return;
  }
  if (rank.waits.kind == WaitKind::kData) ++rank.data_ms[rank.waits.peer];
  if (rank.waits.kind == WaitKind::kRoom) ++rank.room_ms[rank.waits.peer];
}

bool Model::Move(int r) {
  Rank& rank = ranks_[Index(r)];
  const Step& step = rank.program[rank.step];
  // Nobody takes messages of another call.
  const bool odd = (rank.differs && rank.called > rank.differs_from) ||
                   (ranks_[Index(step.peer)].differs && rank.called > ranks_[Index(step.peer)].differs_from);
  const Link& link = step.send ? LinkOf(r, step.peer) : LinkOf(step.peer, r);
  if (step.send && static_cast<double>(link.sent) - std::floor(link.credit) >= static_cast<double>(kRoom)) {
    Wait(rank, WaitKind::kRoom, step.peer);
    return false;
  }
  if (!step.send && (odd || link.arrived < static_cast<double>(link.received) + 1)) {
    Wait(rank, WaitKind::kData, step.peer);
    return false;
  }
  return true;
}

void Model::Wait(Rank& rank, WaitKind kind, int peer) {
  if (rank.waits.kind == kind && rank.waits.peer == peer) return;
  rank.waits = {.kind = kind, .peer = peer, .since_ms = now_ms_};
}

std::vector<diag::LinkLook> Model::CountersOf(int r) const {
  std::map<int, diag::LinkLook> looks;
  const auto of = [&](int peer) -> diag::LinkLook& {
    looks[peer].peer = peer;
    return looks[peer];
  };
  for (const Step& step : ranks_[Index(r)].program) {
    if (step.send) {
      const Link& link = links_.at({r, step.peer});
      of(step.peer).sent[0] = link.sent;
      of(step.peer).credit[0] = static_cast<std::uint64_t>(link.credit);
    } else {
      of(step.peer).received[0] = links_.at({step.peer, r}).received;
    }
  }
  std::vector<diag::LinkLook> all;
  for (const auto& [peer, look] : looks) all.push_back(look);
  return all;
}

diag::RankLook Model::Show(int r) const {
  const Rank& rank = ranks_[Index(r)];
  const std::int32_t thread = 1000 + r;
  diag::RankLook look{.rank = r, .process = r, .island = HostOf(r), .gpu = r % options_.ranks_per_host};
  look.state = diag::RankState::kReady;
  look.thread = thread;
  look.created_ns = 1;
  look.called = look.sequence = rank.called;
  look.finished = look.finished_sequence = rank.finished;
  look.started = rank.started;
  const trace::Call usual{.word = trace::PackCall({.kind = Collective::kAllReduce, .type = DataType::kFloat32}),
                          .count = 1024};
  trace::Call odd = usual;
  odd.count = 77;
  const bool differs = rank.differs && rank.called > rank.differs_from;
  if (differs) look.history.push_back({.first = rank.called, .last = rank.called, .call = odd});
  if (rank.called > 0) look.history.push_back({.first = 1, .last = rank.called - (differs ? 1 : 0), .call = usual});
  if (look.inside()) {
    look.running = {.number = rank.called, .sequence = rank.called, .call = differs ? odd : usual, .protocol = 0};
    look.progress = rank.done;
  }
  if (rank.waits.kind != WaitKind::kNothing && look.inside()) {
    look.wait = {.kind = rank.waits.kind,
                 .peer = rank.waits.peer,
                 .number = rank.called,
                 .since_ns = rank.waits.since_ms * kMs,
                 .looked_ns = rank.runs ? now_ns() : rank.held_ms * kMs,
                 .thread = thread,
                 .inside = true};
  }
  look.links = rank.runs && rank.waits.kind != WaitKind::kNothing ? CountersOf(r) : rank.shown;
  for (diag::LinkLook& link : look.links) {
    const auto data = rank.data_ms.find(link.peer);
    const auto room = rank.room_ms.find(link.peer);
    link.data_wait_ns = data == rank.data_ms.end() ? 0 : data->second * kMs;
    link.room_wait_ns = room == rank.room_ms.end() ? 0 : room->second * kMs;
  }
  return look;
}

diag::Look Model::Take() const {
  diag::Look look{.taken_ns = now_ns(), .taken_unix_ns = now_ns() + 1'700'000'000 * diag::kSecond};
  diag::CommunicatorLook c{.id = 0xabc, .name = "world", .ranks = options_.ranks};
  c.window = {kRoom, 0, 0};
  for (int r = 0; r < options_.ranks; ++r) {
    const std::string host = "node" + std::to_string(HostOf(r));
    if (look.hosts.empty() || look.hosts.back().name != host) {
      const auto lost = lost_hosts_.find(HostOf(r));
      look.hosts.push_back({.name = host, .silent_ns = lost == lost_hosts_.end() ? 0 : (now_ms_ - lost->second) * kMs});
    }
    look.processes.push_back({.host = host, .pid = 5000 + r, .name = "train", .state = ranks_[Index(r)].state});
    c.seen.push_back(Show(r));
  }
  for (const auto& [ends, link] : links_) {
    c.edges.push_back({.from = ends.first,
                       .to = ends.second,
                       .nic_from = "mlx5_" + std::to_string(ends.first % options_.ranks_per_host),
                       .nic_to = "mlx5_" + std::to_string(ends.second % options_.ranks_per_host),
                       .rated_bytes_per_s = options_.link_speed * 1000 * 32});
  }
  look.communicators.push_back(std::move(c));
  return look;
}

std::uint64_t Model::finished() const { return std::ranges::min_element(ranks_, {}, &Rank::finished)->finished; }

void Model::SetProcess(int rank, diag::ProcessState state) {
  Hold(rank);
  ranks_[Index(rank)].state = state;
  ranks_[Index(rank)].runs = state == diag::ProcessState::kSleeping || state == diag::ProcessState::kRunning;
}

// Its counters are what they are at this moment, should it not run any more.
void Model::Hold(int rank) {
  Rank& held = ranks_[Index(rank)];
  if (held.runs && held.waits.kind != WaitKind::kNothing) held.shown = CountersOf(rank);
  held.held_ms = now_ms_;
}

void Model::LoseHost(int rank) {
  lost_hosts_[HostOf(rank)] = now_ms_;
  for (int r = 0; r < options_.ranks; ++r) {
    if (HostOf(r) != HostOf(rank)) continue;
    Hold(r);
    ranks_[Index(r)].runs = false;
  }
}

void Model::CallSomethingElse(int rank) {
  ranks_[Index(rank)].differs = true;
  ranks_[Index(rank)].differs_from = ranks_[Index(rank)].called;
}

std::pair<int, int> Model::AnyEdge(std::mt19937_64& random) const {
  const auto at = std::next(links_.begin(), static_cast<std::ptrdiff_t>(random() % links_.size()));
  return at->first;
}

}  // namespace tutti::tests
