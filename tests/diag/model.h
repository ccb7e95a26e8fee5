// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_DIAG_MODEL_H_
#define TUTTI_TESTS_DIAG_MODEL_H_

// A job of ranks with GPUs on hosts of their own, in steps of a millisecond: messages cross links unit by unit, with room, credit and
// speed, and faults are planted. What its black boxes would show is what the analyser gets. The fault is not told to it.

#include <cstdint>
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
};

class Model {
 public:
  explicit Model(const ModelOptions& options);

  // Lets time pass.
  void Run(int ms);
  diag::Look Take() const;
  std::int64_t now_ns() const { return now_ms_ * diag::kMs; }
  // Operations that all ranks have finished.
  std::uint64_t finished() const;

  // Faults, from now on.
  void DoNotCall(int rank) { ranks_[Index(rank)].late = true; }  // the next operation, until Resume
  void Resume(int rank) { ranks_[Index(rank)].late = false; }
  void DoNotStart(int rank) { ranks_[Index(rank)].starts = false; }  // its GPU
  void SetSpeed(int rank, double units_per_ms) { ranks_[Index(rank)].speed = units_per_ms; }
  void SetLink(int from, int to, double units_per_ms) { LinkOf(from, to).speed = units_per_ms; }
  void LoseCredit(int from, int to) { LinkOf(from, to).tells = false; }
  void SetProcess(int rank, diag::ProcessState state);
  void LoseHost(int rank);  // and all ranks on it
  void CallSomethingElse(int rank);
  // An edge that data cross again and again.
  std::pair<int, int> AnyEdge(std::mt19937_64& random) const;

 private:
  static constexpr std::uint64_t kRoom = 128;
  struct Step {
    bool send = false;
    int peer = 0;
  };
  struct Link {
    std::uint64_t sent = 0, received = 0;
    double arrived = 0, credit = 0;
    double speed = 0;
    bool tells = true;
  };
  struct Waits {
    trace::WaitKind kind = trace::WaitKind::kNothing;
    int peer = -1;
    std::int64_t since_ms = 0;
  };
  struct Rank {
    std::vector<Step> program;
    std::uint64_t called = 0, finished = 0, started = 0;
    std::size_t step = 0;
    int unit = 0;
    int round = 0;
    double speed = 0, budget = 0;
    bool late = false, starts = true, runs = true;
    bool differs = false;
    std::uint64_t differs_from = 0;
    Waits waits;
    std::map<int, std::int64_t> data_ms, room_ms;
    std::vector<diag::LinkLook> shown;  // its counters when it last waited and does not any more
    diag::ProcessState state = diag::ProcessState::kSleeping;
    std::int64_t held_ms = 0;  // since when it does not run
    std::uint64_t done = 0;    // units of the running operation
  };

  static std::size_t Index(int i) { return static_cast<std::size_t>(i); }
  Link& LinkOf(int from, int to) { return links_[{from, to}]; }
  int HostOf(int rank) const { return rank / options_.ranks_per_host; }
  void MakeProgram(int rank);
  void Tick();
  void Advance(int r);
  // Whether the next unit can move; notes what it waits for.
  bool Move(int r);
  void Hold(int r);
  void Wait(Rank& rank, trace::WaitKind kind, int peer);
  std::vector<diag::LinkLook> CountersOf(int r) const;
  diag::RankLook Show(int r) const;

  ModelOptions options_;
  std::int64_t now_ms_ = 1'000'000;
  std::vector<Rank> ranks_;
  std::map<std::pair<int, int>, Link> links_;
  std::map<int, std::int64_t> lost_hosts_;  // since when
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_DIAG_MODEL_H_
