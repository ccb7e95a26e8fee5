// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_RAS_REPORT_H_
#define TUTTI_RAS_REPORT_H_

// An observation in the terms of NCCL's RAS service: what its clients ask for, before it is written as text (text.h) or JSON
// (json.h).
//
// A rank is listed with its counts where its black box can be read and its process is there, even if that is stopped. It is missing
// where its process has ended, where it has left the communicator, and where it has not come while the communicator is made. A rank
// of a finished communicator of which nothing can be seen is neither: it is on another host, and no news of it are bad news.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "diag/evidence.h"
#include "ras/observation.h"
#include "tutti/types.h"

namespace tutti::ras {

// The collectives that NCCL counts, in its order, and its names for them.
struct CountedCollective {
  Collective kind;
  const char* name;
};
inline constexpr std::array<CountedCollective, 5> kCounted = {{{Collective::kBroadcast, "Broadcast"},
                                                               {Collective::kReduce, "Reduce"},
                                                               {Collective::kAllGather, "AllGather"},
                                                               {Collective::kReduceScatter, "ReduceScatter"},
                                                               {Collective::kAllReduce, "AllReduce"}}};

using Counts = std::array<std::uint64_t, kCounted.size()>;

// How far a rank of a communicator is. Ordered: that of a communicator is its ranks' last one.
enum class Stage : std::uint8_t { kNoComm, kInit, kRunning, kFinalize, kAbort };
const char* Name(Stage stage);  // "RUNNING"

struct Process {
  std::string host;
  std::int32_t pid = 0;   // 0: not known
  std::vector<int> gpus;  // of its ranks, each once, in order
  diag::ProcessState state = diag::ProcessState::kUnknown;

  bool has_ended() const { return state == diag::ProcessState::kZombie || state == diag::ProcessState::kGone; }
};

struct Rank {
  int rank = 0;
  int process = -1;  // its place in Report::processes; -1: not known
  int gpu = -1;      // -1: host memory, or not known
  Stage stage = Stage::kRunning;
  int async_error = 0;  // as an ncclResult_t
  std::string failure;  // the sentence to it
  Counts counts{};
  std::uint64_t called = 0, finished = 0;  // calls of all kinds
};

struct MissingRank {
  int rank = 0;
  int process = -1;  // as above
  int gpu = -1;
  enum class Why : std::uint8_t { kEnded, kLeft, kNotCome } why = Why::kNotCome;
};

// Errors of a communicator, bits.
enum : unsigned { kMismatch = 1, kError = 2, kIncomplete = 4, kVerdict = 8 };

struct CommunicatorReport {
  std::uint64_t id = 0;
  std::string name;  // may be empty
  int size = 0;
  std::vector<Rank> ranks;           // by rank
  std::vector<MissingRank> missing;  // by rank
  int unseen = 0;                    // ranks that are neither
  std::vector<Finding> findings;
  // What follows from these.
  int hosts = 0;
  int most_per_host = 0, fewest_per_host = 0;  // ranks
  Stage stage = Stage::kNoComm;                // that of most progress
  bool stages_differ = false;
  unsigned errors = 0;
};

struct Report {
  std::int64_t taken_unix_ns = 0;
  double seconds = 0;              // that it took
  std::vector<Process> processes;  // by host and pid
  // The largest first, those with equal rows in the summary side by side.
  std::vector<CommunicatorReport> communicators;

  // Null where it is not known.
  const Process* ProcessAt(int place) const;
};

// Pure; any thread. The look may be of anything: a process that left garbage in its pages changes what is said of its rank only.
Report MakeReport(const Observation& observation);

// Whether ranks of some communicator have different counts. Ranks are not read at one moment, so those that run may.
bool CountsDiffer(const Report& report);
// Takes the counts of a communicator back to what its foremost rank had in an earlier report, where all its ranks have come that far
// since: each had these counts at some moment between the two. What differs then stands still, or is really ahead.
void AlignCounts(const Report& earlier, Report& report);

}  // namespace tutti::ras

#endif  // TUTTI_RAS_REPORT_H_
