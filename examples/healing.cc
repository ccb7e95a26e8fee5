// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0

// Trains on while its ranks are killed, one after the other, and ends with the very model that one process alone would have made.
//
//   healing [RANKS [KILLS [STEPS]]]    12 ranks, 10 kills and 2000 steps unless given
//
// It starts the ranks itself, and is who kills them. Each rank adds up the gradients of its part of the samples; all_reduce adds up
// those of all. Where a rank is killed the others' call fails. They make a communicator without it (Communicator::Shrink), go back
// to the last step that all have done, share the samples anew, and go on. Numbers are integers, so how samples are shared changes no bit.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tutti/tutti.h"

namespace {

constexpr int kSamples = 2048, kMostRanks = 64;
constexpr std::size_t kWeights = 64;
using Weights = std::array<std::int64_t, kWeights>;

// What ranks tell the process that kills them.
struct Board {
  std::atomic<int> steps{0};                    // that have been done by all
  std::atomic<int> ranks{0};                    // that did the last of them
  std::atomic<int> model_is_right[kMostRanks];  // of each process: 1 yes, -1 no
};

std::int64_t Feature(int sample, std::size_t weight) { return (sample * 31 + static_cast<int>(weight) * 17) % 7 - 3; }

// The gradient of the squared error over samples first, first + every, ...
Weights Gradient(const Weights& model, int first, int every) {
  Weights sum{};
  for (int sample = first; sample < kSamples; sample += every) {
    std::int64_t error = 0;
    for (std::size_t i = 0; i < kWeights; ++i) {
      const std::int64_t wanted = (static_cast<std::int64_t>(i) % 5 - 2) << 20;
      error += Feature(sample, i) * (model[i] - wanted);
    }
    for (std::size_t i = 0; i < kWeights; ++i) sum[i] += Feature(sample, i) * error;
  }
  return sum;
}

void Descend(Weights& model, const Weights& gradient) {
  for (std::size_t i = 0; i < kWeights; ++i) model[i] -= gradient[i] >> 19;
}

// A rank's state: the model after so many steps, and before the last of them.
struct Training {
  int steps = 0;
  Weights model{}, before{};

  tutti::Status Step(tutti::Communicator& world) {
    const Weights mine = Gradient(model, world.rank(), world.ranks());
    Weights all{};
    if (tutti::Status s = world.Run(tutti::AllReduce(mine, all)); !s.ok()) return s;
    before = model;
    Descend(model, all);
    ++steps;
    return {};
  }
  // A call that failed here may have succeeded elsewhere, and no rank is further than that.
  tutti::Status Agree(tutti::Communicator& world) {
    const std::array<int, 1> mine{steps};
    std::array<int, 1> least{};
    if (tutti::Status s = world.Run(tutti::AllReduce(mine, least, tutti::ReduceOp::kMin)); !s.ok()) return s;
    if (least[0] == steps) return {};
    model = before;
    --steps;
    return {};
  }
};

// A communicator of the ranks that are left after `why`, with the training agreed on.
tutti::Result<tutti::Communicator> Heal(tutti::Communicator world, tutti::Status why, Training& training) {
  for (;;) {
    // Whom the error names, and whom the monitor knows to be gone.
    std::vector<int> out = world.WhoHoldsItUp().exclude;
    if (why.peer() >= 0) out.push_back(why.peer());
    for (;;) {
      std::ranges::sort(out);
      out.erase(std::unique(out.begin(), out.end()), out.end());
      if (out.empty()) return why;  // nobody can be left out
      tutti::Result<tutti::Communicator> rest = world.Shrink(out);
      if (rest.ok()) {
        world = std::move(*rest);
        break;
      }
      // One more is gone: the error counts those that were to stay.
      if (rest.status().peer() < 0) return rest.status();
      int rank = -1;
      for (int left = rest.status().peer(); left >= 0; --left) {
        do ++rank;
        while (std::ranges::find(out, rank) != out.end());
      }
      out.push_back(rank);
    }
    why = training.Agree(world);
    if (why.ok()) return world;
  }
}

int Train(const tutti::CommunicatorOptions& options, int steps, const Weights& expected, Board& board) {
  const auto failed = [&](const tutti::Status& s) {
    std::fprintf(stderr, "rank %d cannot go on: %s\n", options.rank, s.ToString().c_str());
    return 1;
  };
  tutti::Result<tutti::Communicator> made = tutti::Communicator::Create(options);
  if (!made.ok()) return failed(made.status());
  tutti::Communicator world = std::move(*made);
  Training training;
  while (training.steps < steps) {
    if (tutti::Status s = training.Step(world); !s.ok()) {
      tutti::Result<tutti::Communicator> rest = Heal(std::move(world), s, training);
      if (!rest.ok()) return failed(rest.status());
      world = std::move(*rest);
    } else if (world.rank() == 0) {
      board.ranks = world.ranks();
      board.steps = training.steps;
    }
    // A real step takes longer.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  board.model_is_right[options.rank] = training.model == expected ? 1 : -1;
  return training.model == expected ? 0 : 1;
}

double MillisecondsSince(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - then).count();
}

// Waits until `done` says so, for a minute at most.
template <typename Done>
bool Await(const Done& done) {
  const auto begin = std::chrono::steady_clock::now();
  while (!done()) {
    if (MillisecondsSince(begin) > 60'000) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

// Kills so many of them, each once the others have done some steps since the one before. False: they did not go on.
bool KillOneByOne(std::vector<pid_t>& ranks, int kills, Board& board) {
  std::vector<int> alive(ranks.size());
  for (std::size_t i = 0; i < alive.size(); ++i) alive[i] = static_cast<int>(i);
  for (int kill_number = 1; kill_number <= kills; ++kill_number) {
    const int from = board.steps;
    if (!Await([&] { return board.steps >= from + 20; })) return false;
    const std::size_t which = static_cast<std::size_t>(kill_number) * 7 % alive.size();
    const int rank = alive[which];
    const auto then = std::chrono::steady_clock::now();
    kill(ranks[static_cast<std::size_t>(rank)], SIGKILL);
    waitpid(ranks[static_cast<std::size_t>(rank)], nullptr, 0);
    ranks[static_cast<std::size_t>(rank)] = 0;
    alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(which));
    if (!Await([&] { return board.ranks == static_cast<int>(alive.size()); })) return false;
    std::printf("kill %2d: rank %2d after step %4d; the next step, by %2zu, was done %.0f ms later\n", kill_number,
                rank, from + 20, alive.size(), MillisecondsSince(then));
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc > 1 ? std::atoi(argv[1]) : 12;
  const int kills = argc > 2 ? std::atoi(argv[2]) : 10;
  const int steps = argc > 3 ? std::atoi(argv[3]) : 2000;
  if (ranks < 2 || ranks > kMostRanks || kills < 0 || kills > ranks - 1 || steps < 20 * (kills + 1)) {
    std::fprintf(
        stderr,
        "usage: healing [RANKS [KILLS [STEPS]]]: 2 to %d ranks, fewer kills than ranks, and 20 steps for each\n",
        kMostRanks);
    return 2;
  }
  Weights expected{};
  for (int step = 0; step < steps; ++step) Descend(expected, Gradient(expected, 0, 1));

  void* const page = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  tutti::Result<tutti::UniqueId> id = tutti::CreateUniqueId();
  if (page == MAP_FAILED || !id.ok()) return 1;
  Board& board = *new (page) Board{};
  std::vector<pid_t> processes;
  for (int rank = 0; rank < ranks; ++rank) {
    processes.push_back(fork());
    if (processes.back() == 0)
      _exit(Train({.rank = rank, .ranks = ranks, .id = *id, .name = "train"}, steps, expected, board));
  }
  const bool healed = KillOneByOne(processes, kills, board);
  bool right = healed;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t process = processes[static_cast<std::size_t>(rank)];
    if (process == 0) continue;
    if (!healed) kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
    right = right && board.model_is_right[rank] == 1;
  }
  std::printf("%d ranks, %d killed, %d steps: the model is %s\n", ranks, kills, steps,
              right ? "that of one process alone" : "wrong");
  return right ? 0 : 1;
}
