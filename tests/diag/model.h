// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_DIAG_MODEL_H_
#define TUTTI_TESTS_DIAG_MODEL_H_

// A job of ranks with GPUs on hosts of their own, in steps of a millisecond: messages cross links unit by unit, with room, credit and
// speed, and faults are planted. What its black boxes would show is what the analyser gets. The fault is not told to it.

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "diag/evidence.h"
#include "diag/verdict.h"

namespace tutti::tests {

enum class Shape : std::uint8_t { kRing, kTree, kPairwise };
const char* Name(Shape shape);

struct ModelOptions {
  int ranks = 4;
  int ranks_per_host = 1;
  Shape shape = Shape::kRing;
  int units = 64;                             // of a message; at most the room of a link
  int rounds = 4;                             // of an operation
  double link_speed = 100, rank_speed = 400;  // units per ms
  // How long a rank works before an operation, by its number from 1 on, ms. None: not at all.
  std::function<int(int rank, std::uint64_t operation)> work;
  // How often a rank that waits writes that down (comm/host/waiter.cc), ms; 0: at once.
  int report_ms = 0;
};

class Model {
 public:
  explicit Model(const ModelOptions& options);

  // Lets time pass. What nothing happens in takes no time.
  void Run(int ms);
  // Whether all ranks work and nothing is on its way.
  bool AllWork() const;
  // Lets so many operations pass in which nothing happens that is of interest, each with the work before it in `period_ms`. REQUIRES: AllWork().
  void Skip(std::uint64_t operations, std::int64_t period_ms);
  // The longest wait that goes on, as the ranks have written it down; 0: none.
  std::int64_t LongestWaitMs() const;
  diag::Look Take() const;
  std::int64_t now_ns() const { return now_ms_ * diag::kMs; }
  // Operations that all ranks have finished.
  std::uint64_t finished() const;

  // Faults, from now on.
  void DoNotCall(int rank) { Change(rank).late = true; }  // the next operation, until Resume
  void Resume(int rank) { Change(rank).late = false; }
  void DoNotStart(int rank) { Change(rank).starts = false; }  // its GPU
  void SetSpeed(int rank, double units_per_ms) { Change(rank).speed = units_per_ms; }
  void SetLink(int from, int to, double units_per_ms) { ChangeLink(from, to).speed = units_per_ms; }
  void LoseCredit(int from, int to) { ChangeLink(from, to).tells = false; }
  void SetProcess(int rank, diag::ProcessState state);
  diag::ProcessState process(int rank) const { return ranks_[Index(rank)].state; }
  void LoseHost(int rank);  // and all ranks on it
  void CallSomethingElse(int rank);
  // An edge that data cross again and again.
  std::pair<int, int> AnyEdge(std::mt19937_64& random) const;

 private:
  static constexpr std::uint64_t kRoom = 128;
  static constexpr int kNoLink = -1;
  struct Step {
    bool send = false;
    int peer = 0;  // by its place in Rank::peers
    int link = 0;  // by its place in links_
  };
  struct Link {
    int from = 0, to = 0;
    std::uint64_t sent = 0, received = 0;
    double arrived = 0, credit = 0;
    double speed = 0;
    bool tells = true;
    bool busy = false;  // it is in busy_links_
  };
  // What a rank has to do with another one.
  struct Peer {
    int rank = 0;
    int out = kNoLink, in = kNoLink;
    std::int64_t data_ms = 0, room_ms = 0;  // that were waited there
  };
  struct Waits {
    trace::WaitKind kind = trace::WaitKind::kNothing;
    int peer = -1;  // by its place in Rank::peers
    std::int64_t since_ms = 0;
  };
  struct Rank {
    std::vector<Step> program;
    std::vector<Peer> peers;  // by rank
    std::uint64_t called = 0, finished = 0, started = 0;
    std::size_t step = 0;
    int unit = 0;
    int round = 0;
    double speed = 0, budget = 0;
    bool late = false, starts = true, runs = true;
    bool differs = false;
    std::uint64_t differs_from = 0;
    Waits waits;
    std::vector<diag::LinkLook> shown;  // its counters when it last waited and does not any more
    diag::ProcessState state = diag::ProcessState::kSleeping;
    std::int64_t held_ms = 0;   // since when it does not run
    std::int64_t ready_ms = 0;  // until when it works
    std::int64_t seen_ms = 0;   // when it was last looked at: nothing has happened to it since
    bool awake = false;         // it is in awake_
    std::int64_t called_ms = 0;
    struct {
      Waits waits;
      std::vector<diag::LinkLook> links;
      std::int64_t at_ms = 0;
    } report;                // what it has written down of its wait
    std::uint64_t done = 0;  // units of the running operation
  };

  static std::size_t Index(int i) { return static_cast<std::size_t>(i); }
  // For faults: all is looked at anew.
  Rank& Change(int rank);
  Link& ChangeLink(int from, int to);
  void WakeAll();
  // The place of a peer, or of a link, which are new where there was none.
  int PeerOf(int rank, int peer);
  int MakeLink(int from, int to);
  int HostOf(int rank) const { return rank / options_.ranks_per_host; }
  void MakeProgram(int rank);
  void AddStep(int rank, bool send, int peer);
  void Tick();
  void MoveLinks();
  void WakeReady();
  void Wake(int r);
  void Stir(int link);
  // Counts what a rank has waited since it was last looked at.
  void CatchUp(Rank& rank);
  void Advance(int r);
  bool Begin(Rank& rank);
  void Work(int r);
  void End(int r);
  void Report(int r);
  // How many units of the running step could move, had the rank the time; where none can it notes what for it waits.
  int Movable(int r);
  void NextStep(Rank& rank);
  void Hold(int r);
  void Wait(Rank& rank, trace::WaitKind kind, int peer);
  std::vector<diag::LinkLook> CountersOf(int r) const;
  diag::RankLook Show(int r) const;

  ModelOptions options_;
  std::int64_t now_ms_ = 1'000'000;
  std::vector<Rank> ranks_;
  std::vector<Link> links_;
  // Links on which something is under way, and ranks to which something has happened: nothing happens to the others before
  // next_ready_ms_, when a rank has done its work.
  std::vector<int> busy_links_, awake_, turn_;
  std::int64_t next_ready_ms_ = 0;
  std::map<std::pair<int, int>, int> link_at_;  // by the ends
  std::map<int, std::int64_t> lost_hosts_;      // since when
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_DIAG_MODEL_H_
