// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_WORKLOAD_H_
#define TUTTI_SIM_WORKLOAD_H_

// One step of a training as a short text: what each rank computes and sends.
//
//   # 8 GPUs share each layer, 4 stages share the layers, 16 copies share the data
//   ranks tensor=8 pipeline=4 data=16
//   microbatches 32
//   schedule 1f1b
//
//   forward                                 of one microbatch on one stage
//     receive 24MiB                         from the stage before
//     repeat 20
//       compute 1.2ms
//       all_reduce tensor 48MiB
//     end
//     send 24MiB                            to the stage behind
//   backward
//     receive 24MiB                         from the stage behind
//     repeat 20
//       compute 2.4ms
//       all_reduce tensor 48MiB
//       reduce_scatter data 200MiB beside last
//     end
//     send 24MiB
//   finish                                  once, behind all microbatches
//     wait
//     compute 3ms
//     all_gather data 4GiB
//
//   file      := { line [ "#" comment ] }
//   line      := "ranks" { name "=" count }  groups of ranks, the first one's members next to each other
//             |  "microbatches" count        1 where it is missing
//             |  "schedule" ( "1f1b" | "all_forward" )   1f1b: a stage goes back with a microbatch as soon as it can;
//                                            all_forward: once all have gone forward. 1f1b where it is missing
//             |  "begin" | "forward" | "backward" | "finish"   what follows is done once at first; for each microbatch; once behind them
//             |  "compute" time
//             |  collective group size { option }   a barrier has no size; the first member is the root, where there is one
//             |  ( "send" | "receive" ) size   only with a group named pipeline; the first stage receives nothing from before, and so on
//             |  "wait"                      for all that goes on beside
//             |  "repeat" count | "end"      what is between them, so many times
//   group     := a name | "all"
//   option    := "beside"                    computation goes on meanwhile
//             |  "first" | "last"            with the first or the last microbatch only
//             |  "by" algorithm protocol "channels" count [ "chunk" size ]   instead of what would be chosen
//   time      := number ( "us" | "ms" | "s" )
//   size      := number ( "B" | "KB" | "MB" | "GB" | "KiB" | "MiB" | "GiB" )
//
// A size is that of a rank's larger buffer, as nccl-tests counts it: what an all_gather puts out, what a reduce_scatter takes in, what an
// all_to_all sends to all together. Sends go on beside; receives are waited for.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/ways.h"
#include "tutti/status.h"
#include "tutti/types.h"

namespace tutti::sim {

struct Statement {
  enum class Kind : std::uint8_t { kCompute, kCollective, kSend, kReceive, kWait, kRepeat, kEnd };
  enum class When : std::uint8_t { kAlways, kFirst, kLast };
  Kind kind = Kind::kCompute;
  int line = 0;
  double compute_us = 0;
  Collective collective = Collective::kAllReduce;
  int group = kAll;  // in Workload::groups
  std::uint64_t bytes = 0;
  std::uint64_t times = 1;  // of kRepeat
  bool beside = false;
  When when = When::kAlways;
  std::optional<Way> by;
  static constexpr int kAll = -1;
};

struct Workload {
  struct Group {
    std::string name;
    int size = 1;
  };
  enum class Schedule : std::uint8_t { k1f1b, kAllForward };
  enum Section : std::uint8_t { kBegin, kForward, kBackward, kFinish, kSections };

  std::vector<Group> groups;  // the members of the first one are next to each other
  int microbatches = 1;
  Schedule schedule = Schedule::k1f1b;
  std::array<std::vector<Statement>, kSections> sections;

  int ranks() const;
  // The group named pipeline; -1: there is none.
  int pipeline() const;
};

// More than that is refused, so that a slip of the pen does not fill the memory.
inline constexpr int kMostWorkloadRanks = 1 << 20;
inline constexpr std::uint64_t kMostStatements = 1 << 20;  // of a section, repeated ones as often as they are

// Fails with the number of the line, what is wrong there and what would be right.
Result<Workload> ReadWorkload(std::string_view text);

}  // namespace tutti::sim

#endif  // TUTTI_SIM_WORKLOAD_H_
