// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/diag/model.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace tutti::tests {

using diag::kMs;
using trace::WaitKind;

const char* Name(Shape shape) {
  constexpr const char* kNames[] = {"ring", "tree", "pairwise"};
  return kNames[static_cast<int>(shape)];
}

Model::Model(const ModelOptions& options) : options_(options), ranks_(Index(options.ranks)) {
  for (int r = 0; r < options.ranks; ++r) {
    Rank& rank = ranks_[Index(r)];
    rank.speed = options.rank_speed;
    rank.ready_ms = now_ms_ + (options.work ? options.work(r, 1) : 0);
    rank.seen_ms = now_ms_;
    MakeProgram(r);
  }
}

int Model::PeerOf(int rank, int peer) {
  std::vector<Peer>& peers = ranks_[Index(rank)].peers;
  const auto found = std::ranges::find(peers, peer, &Peer::rank);
  const auto place = static_cast<int>(found - peers.begin());
  if (found == peers.end()) peers.push_back({.rank = peer});
  return place;
}

int Model::MakeLink(int from, int to) {
  const auto [found, is_new] = link_at_.try_emplace({from, to}, static_cast<int>(links_.size()));
  if (is_new) links_.push_back({.from = from, .to = to, .speed = options_.link_speed});
  return found->second;
}

Model::Rank& Model::Change(int rank) {
  WakeAll();
  return ranks_[Index(rank)];
}

Model::Link& Model::ChangeLink(int from, int to) {
  WakeAll();
  return links_[Index(link_at_.at({from, to}))];
}

void Model::AddStep(int rank, bool send, int peer) {
  const Step step{.send = send, .peer = PeerOf(rank, peer), .link = send ? MakeLink(rank, peer) : MakeLink(peer, rank)};
  Peer& with = ranks_[Index(rank)].peers[Index(step.peer)];
  (send ? with.out : with.in) = step.link;
  ranks_[Index(rank)].program.push_back(step);
}

// One round of an operation.
void Model::MakeProgram(int rank) {
  const int n = options_.ranks;
  switch (options_.shape) {
    case Shape::kRing:
      for (int step = 0; step < 2 * (n - 1); ++step) {
        AddStep(rank, true, (rank + 1) % n);
        AddStep(rank, false, (rank + n - 1) % n);
      }
      break;
    case Shape::kTree: {
      std::vector<int> children;
      for (const int child : {2 * rank + 1, 2 * rank + 2}) {
        if (child < n) children.push_back(child);
      }
      const int parent = (rank - 1) / 2;
      for (const int child : children) AddStep(rank, false, child);
      if (rank != 0) AddStep(rank, true, parent);
      if (rank != 0) AddStep(rank, false, parent);
      for (const int child : children) AddStep(rank, true, child);
      break;
    }
    case Shape::kPairwise:
      for (int distance = 1; distance < n; ++distance) {
        AddStep(rank, true, (rank + distance) % n);
        AddStep(rank, false, (rank + n - distance) % n);
      }
      break;
  }
}

void Model::Run(int ms) {
  for (const std::int64_t end_ms = now_ms_ + ms; now_ms_ < end_ms;) {
    const bool quiet = awake_.empty() && busy_links_.empty();
    if (quiet) now_ms_ = std::max(now_ms_, std::min(next_ready_ms_ - 1, end_ms));
    if (now_ms_ < end_ms) Tick();
  }
  for (int r = 0; r < options_.ranks; ++r) Report(r);
}

void Model::Tick() {
  ++now_ms_;
  if (now_ms_ >= next_ready_ms_) WakeReady();
  MoveLinks();
  turn_.swap(awake_);
  for (const int r : turn_) {
    ranks_[Index(r)].awake = false;
    Advance(r);
  }
  turn_.clear();
}

void Model::MoveLinks() {
  std::erase_if(busy_links_, [&](int at) {
    Link& link = links_[Index(at)];
    const double arrived = std::min(static_cast<double>(link.sent), link.arrived + link.speed);
    if (std::floor(arrived) > std::floor(link.arrived)) Wake(link.to);
    link.arrived = arrived;
    if (link.tells) {
      const double credit = std::min(static_cast<double>(link.received), link.credit + options_.link_speed);
      if (std::floor(credit) > std::floor(link.credit)) Wake(link.from);
      link.credit = credit;
    }
    link.busy = (link.speed > 0 && arrived < static_cast<double>(link.sent)) ||
                (link.tells && link.credit < static_cast<double>(link.received));
    return !link.busy;
  });
}

void Model::WakeReady() {
  next_ready_ms_ = INT64_MAX;
  for (int r = 0; r < options_.ranks; ++r) {
    const Rank& rank = ranks_[Index(r)];
    if (!rank.runs || rank.late || rank.called > rank.finished) continue;
    if (rank.ready_ms <= now_ms_) {
      Wake(r);
    } else {
      next_ready_ms_ = std::min(next_ready_ms_, rank.ready_ms);
    }
  }
}

void Model::Wake(int r) {
  if (!std::exchange(ranks_[Index(r)].awake, true)) awake_.push_back(r);
}

void Model::Stir(int link) {
  if (!std::exchange(links_[Index(link)].busy, true)) busy_links_.push_back(link);
}

void Model::WakeAll() {
  for (int r = 0; r < options_.ranks; ++r) {
    CatchUp(ranks_[Index(r)]);
    Wake(r);
  }
  for (std::size_t link = 0; link < links_.size(); ++link) Stir(static_cast<int>(link));
  next_ready_ms_ = now_ms_;
}

void Model::CatchUp(Rank& rank) {
  const std::int64_t passed_ms = now_ms_ - std::exchange(rank.seen_ms, now_ms_);
  if (!rank.runs) return;
  rank.budget = std::min(rank.budget + rank.speed * static_cast<double>(passed_ms), std::max(rank.speed, 1.0));
  if (rank.waits.kind == WaitKind::kNothing) return;
  Peer& peer = rank.peers[Index(rank.waits.peer)];
  (rank.waits.kind == WaitKind::kData ? peer.data_ms : peer.room_ms) += passed_ms;
}

void Model::Advance(int r) {
  Rank& rank = ranks_[Index(r)];
  Report(r);
  CatchUp(rank);
  if (rank.runs && Begin(rank)) Work(r);
}

// Whether it is in an operation that it can work on.
bool Model::Begin(Rank& rank) {
  if (rank.called == rank.finished) {
    if (rank.late || rank.ready_ms > now_ms_) return false;
    ++rank.called;
    rank.called_ms = now_ms_;
    rank.step = 0, rank.unit = 0, rank.round = 0, rank.done = 0;
  }
  if (rank.started < rank.called && !rank.starts) return false;
  rank.started = rank.called;
  return true;
}

void Model::Work(int r) {
  Rank& rank = ranks_[Index(r)];
  for (int units = Movable(r); units > 0; units = Movable(r)) {
    if (rank.waits.kind != WaitKind::kNothing && options_.report_ms == 0) rank.shown = CountersOf(r);
    rank.waits = {};
    units = std::min({units, options_.units - rank.unit, static_cast<int>(rank.budget)});
    if (units == 0) {  // it could, if it were faster
      if (rank.speed > 0) Wake(r);
      return;
    }
    rank.budget -= units;
    const Step& step = rank.program[rank.step];
    Link& link = links_[Index(step.link)];
    (step.send ? link.sent : link.received) += static_cast<std::uint64_t>(units);
    Stir(step.link);
    rank.done += static_cast<std::uint64_t>(units);
    rank.unit += units;
    if (rank.unit < options_.units) continue;
    NextStep(rank);
    if (rank.finished == rank.called) return End(r);
  }
}

void Model::End(int r) {
  Rank& rank = ranks_[Index(r)];
  rank.report.waits = {};
  rank.ready_ms = now_ms_ + (options_.work ? options_.work(r, rank.called + 1) : 0);
  if (rank.ready_ms <= now_ms_) return Wake(r);
  next_ready_ms_ = std::min(next_ready_ms_, rank.ready_ms);
}

void Model::Report(int r) {
  Rank& rank = ranks_[Index(r)];
  if (options_.report_ms == 0 || rank.waits.kind == WaitKind::kNothing) return;
  if (now_ms_ - std::max(rank.called_ms, rank.report.at_ms) <= options_.report_ms) return;
  rank.report = {.waits = rank.waits, .links = CountersOf(r), .at_ms = now_ms_};
}

bool Model::AllWork() const {
  const auto is_quiet = [](const Link& link) {
    const auto sent = static_cast<double>(link.sent);
    return link.received == link.sent && link.arrived == sent && link.credit == sent;
  };
  return std::ranges::all_of(ranks_, [](const Rank& rank) { return rank.called == rank.finished; }) &&
         std::ranges::all_of(links_, is_quiet);
}

void Model::Skip(std::uint64_t operations, std::int64_t period_ms) {
  const auto skipped_ms = static_cast<std::int64_t>(operations) * period_ms;
  now_ms_ += skipped_ms;
  for (Rank& rank : ranks_) {
    rank.called += operations;
    rank.finished = rank.started = rank.called;
    rank.ready_ms += skipped_ms;
    rank.seen_ms = now_ms_;
    for (const Step& step : rank.program) {
      if (!step.send) continue;
      Link& link = links_[Index(step.link)];
      link.sent +=
          operations * static_cast<std::uint64_t>(options_.units) * static_cast<std::uint64_t>(options_.rounds);
    }
  }
  for (Link& link : links_) {
    link.received = link.sent;
    link.arrived = link.credit = static_cast<double>(link.sent);
  }
  next_ready_ms_ += skipped_ms;
}

std::int64_t Model::LongestWaitMs() const {
  std::int64_t longest_ms = 0;
  for (const Rank& rank : ranks_) {
    const Waits& waits = options_.report_ms == 0 ? rank.waits : rank.report.waits;
    if (waits.kind != WaitKind::kNothing) longest_ms = std::max(longest_ms, now_ms_ - waits.since_ms);
  }
  return longest_ms;
}

void Model::NextStep(Rank& rank) {
  rank.unit = 0;
  if (++rank.step < rank.program.size()) return;
  rank.step = 0;
  if (++rank.round == options_.rounds) rank.finished = rank.called;
}

int Model::Movable(int r) {
  Rank& rank = ranks_[Index(r)];
  const Step& step = rank.program[rank.step];
  const Rank& peer = ranks_[Index(rank.peers[Index(step.peer)].rank)];
  const Link& link = links_[Index(step.link)];
  if (step.send) {
    const double room = static_cast<double>(kRoom) - (static_cast<double>(link.sent) - std::floor(link.credit));
    if (room >= 1) return static_cast<int>(room);
    Wait(rank, WaitKind::kRoom, step.peer);
    return 0;
  }
  // Nobody takes messages of another call.
  const bool odd =
      (rank.differs && rank.called > rank.differs_from) || (peer.differs && rank.called > peer.differs_from);
  const double there = std::floor(link.arrived) - static_cast<double>(link.received);
  if (!odd && there >= 1) return static_cast<int>(there);
  Wait(rank, WaitKind::kData, step.peer);
  return 0;
}

void Model::Wait(Rank& rank, WaitKind kind, int peer) {
  if (rank.waits.kind == kind && rank.waits.peer == peer) return;
  rank.waits = {.kind = kind, .peer = peer, .since_ms = now_ms_};
}

std::vector<diag::LinkLook> Model::CountersOf(int r) const {
  std::vector<diag::LinkLook> all;
  for (const Peer& peer : ranks_[Index(r)].peers) {
    diag::LinkLook& look = all.emplace_back();
    look.peer = peer.rank;
    if (peer.out != kNoLink) {
      look.sent[0] = links_[Index(peer.out)].sent;
      look.credit[0] = static_cast<std::uint64_t>(links_[Index(peer.out)].credit);
    }
    if (peer.in != kNoLink) look.received[0] = links_[Index(peer.in)].received;
  }
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
  const bool at_once = options_.report_ms == 0;
  const Waits& waits = at_once ? rank.waits : rank.report.waits;
  const std::int64_t looked_ms = at_once ? now_ms_ : rank.report.at_ms;
  if (waits.kind != WaitKind::kNothing && look.inside()) {
    look.wait = {.kind = waits.kind,
                 .peer = rank.peers[Index(waits.peer)].rank,
                 .number = rank.called,
                 .since_ns = waits.since_ms * kMs,
                 .looked_ns = (rank.runs ? looked_ms : std::min(looked_ms, rank.held_ms)) * kMs,
                 .thread = thread,
                 .inside = true};
  }
  if (!at_once) {
    look.links = rank.report.links;
  } else {
    look.links = rank.runs && waits.kind != WaitKind::kNothing ? CountersOf(r) : rank.shown;
  }
  for (diag::LinkLook& link : look.links) {
    const Peer& peer = *std::ranges::find(rank.peers, link.peer, &Peer::rank);
    const bool here =
        rank.runs && rank.waits.kind != WaitKind::kNothing && &rank.peers[Index(rank.waits.peer)] == &peer;
    const std::int64_t since_ms = here ? now_ms_ - rank.seen_ms : 0;
    const bool data = rank.waits.kind == WaitKind::kData;
    link.data_wait_ns = (peer.data_ms + (data ? since_ms : 0)) * kMs;
    link.room_wait_ns = (peer.room_ms + (data ? 0 : since_ms)) * kMs;
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
  for (const auto& [ends, at] : link_at_) {
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
  WakeAll();
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
  WakeAll();
  lost_hosts_[HostOf(rank)] = now_ms_;
  for (int r = 0; r < options_.ranks; ++r) {
    if (HostOf(r) != HostOf(rank)) continue;
    Hold(r);
    ranks_[Index(r)].runs = false;
  }
}

void Model::CallSomethingElse(int rank) {
  WakeAll();
  ranks_[Index(rank)].differs = true;
  ranks_[Index(rank)].differs_from = ranks_[Index(rank)].called;
}

std::pair<int, int> Model::AnyEdge(std::mt19937_64& random) const {
  const auto at = std::next(link_at_.begin(), static_cast<std::ptrdiff_t>(random() % link_at_.size()));
  return at->first;
}

}  // namespace tutti::tests
