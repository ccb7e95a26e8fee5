// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_RECORD_TEST_JOBS_H_
#define TUTTI_TOOLS_RECORD_TEST_JOBS_H_

// Jobs that were never run, with black boxes written by hand, for tests.

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sys/os/clock.h"
#include "tools/record_job.h"
#include "trace/recorder.h"

namespace tutti::tools {

// Processes with pids from 100 on host "a", each with one rank of every communicator unless a test says otherwise.
class HandMadeJob {
 public:
  static constexpr std::int64_t kMs = 1'000'000;
  static constexpr std::int64_t kOffset = 1'700'000'000'000'000'000;  // dates minus CLOCK_MONOTONIC

  explicit HandMadeJob(int ranks, const std::string& name = "dp") {
    for (int r = 0; r < ranks; ++r) {
      now.processes.push_back({.host = "a", .pid = 100 + r, .name = "train", .state = diag::ProcessState::kSleeping});
    }
    std::vector<int> processes;
    for (int r = 0; r < ranks; ++r) processes.push_back(r);
    Add(name, processes);
  }

  // One more communicator, whose rank i is in the i-th of these processes; its number.
  int Add(const std::string& name, const std::vector<int>& processes) {
    const int number = static_cast<int>(boxes_.size());
    boxes_.emplace_back();
    for (std::size_t r = 0; r < processes.size(); ++r)
      boxes_.back().emplace_back(number, name, static_cast<int>(r), static_cast<int>(processes.size()), processes[r]);
    return number;
  }

  // One rank's black box. Its thread is that of its process, whose id is 100 more than the pid.
  struct Box {
    Box(int number, const std::string& name, int rank, int ranks, int its_process)
        : bytes(trace::BoxBytes(ranks, 1)),
          memory(static_cast<std::byte*>(std::aligned_alloc(4096, bytes)), &std::free),
          process(its_process) {
      std::memset(memory.get(), 0, bytes);
      recorder = trace::Recorder(memory.get(), {.communicator = 0xc0 + static_cast<std::uint64_t>(number),
                                                .name = name,
                                                .rank = rank,
                                                .ranks = ranks,
                                                .pid = 100 + process,
                                                .created_ns = Start(),
                                                .created_unix_ns = Start() + kOffset + number,
                                                .thread = 200 + process,
                                                .window = {128, 256, 32}});
    }
    // Writes a call down, which has ended unless a test says otherwise; its number.
    std::uint64_t Call(Collective kind, std::uint64_t count, std::uint64_t sequence, int root = 0, bool ends = true) {
      const std::uint64_t number =
          recorder.Add(trace::PackCall({.kind = kind, .type = DataType::kFloat32, .root = root}), count, sequence,
                       trace::How{.algorithm = 1, .protocol = 2}.Pack());
      if (ends) recorder.Finish(number);
      return number;
    }
    // The clock was read for it: ms since Start(); an end of 0 has not come.
    void Time(std::uint64_t number, std::int64_t from_ms, std::int64_t to_ms) {
      recorder.TimeEnqueued(number, Start() + from_ms * kMs, Start() + from_ms * kMs);
      if (to_ms != 0) recorder.TimeFinished(number, Start() + to_ms * kMs);
    }

    std::size_t bytes;
    std::unique_ptr<std::byte, decltype(&std::free)> memory;
    trace::Recorder recorder;
    int process;
    bool moved = false;   // calls have ended since the look before
    bool hidden = false;  // it is not seen
  };
  Box& box(int rank, int c = 0) { return boxes_[static_cast<std::size_t>(c)][static_cast<std::size_t>(rank)]; }
  // When the communicators were made: ten seconds before the first test.
  static std::int64_t Start() {
    static const std::int64_t start_ns = sys::NowNs() - 10'000 * kMs;
    return start_ns;
  }

  // What can be seen of it now. The job is valid until the next call, and as long as this is.
  RecordJob Make(const std::vector<diag::Verdict>& verdicts = {}) {
    Look(verdicts);
    return MakeRecordJob(before, now, jobs.front(), copies);
  }
  void Look(const std::vector<diag::Verdict>& verdicts = {}) {
    copies.clear();
    now.communicators.clear();
    now.taken_ns = sys::NowNs();
    now.taken_unix_ns = now.taken_ns + kOffset;
    for (std::deque<Box>& ranks : boxes_) {
      diag::CommunicatorLook* c = nullptr;
      for (Box& box : ranks) {
        if (box.hidden) continue;
        Result<BoxCopy> copy = BoxCopy::Take(getpid(), reinterpret_cast<std::uint64_t>(box.memory.get()), box.bytes);
        copies.push_back(std::move(*copy));
        if (c == nullptr) c = &now.communicators.emplace_back(diag::ReadCommunicator(copies.back().view()));
        c->seen.push_back(diag::ReadRank(copies.back().view()));
        c->seen.back().process = box.process;
        if (c->seen.back().state == diag::RankState::kUnknown) c->seen.back().state = diag::RankState::kReady;
      }
    }
    before = now;
    before.taken_ns -= 200 * kMs;
    for (std::size_t c = 0; c < before.communicators.size(); ++c) {
      for (diag::RankLook& rank : before.communicators[c].seen) {
        if (box(rank.rank, static_cast<int>(c)).moved) --rank.finished;
      }
    }
    jobs = FindJobs(before, now, verdicts);
  }

  diag::Look before, now;
  std::vector<BoxCopy> copies;
  std::vector<TopJob> jobs;

 private:
  std::deque<std::deque<Box>> boxes_;  // by communicator and rank
};

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_RECORD_TEST_JOBS_H_
