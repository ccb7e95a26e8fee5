// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_WORKLOAD_H_
#define TUTTI_SIM_WORKLOAD_H_

// One step of a training as a short text: what each rank computes and sends.
//
//   # 8 GPUs share each layer, 4 stages share the layers, 16 copies share the data
//   ranks tensor=8 pipeline=4 data=16
//   gpu 989TFLOP/s
//   model 70e9 parameters 2.1e6 tokens
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
//             |  "gpu" rate [ "sustains" rate ]   what a rank could compute, and what it does while it computes
//             |  "model" count "parameters" count "tokens"   the tokens are those of a step, of all ranks together
//             |  "begin" | "forward" | "backward" | "finish"   what follows is done once at first; for each microbatch; once behind them
//             |  "compute" ( time | work )   work takes as long as a rank's sustained rate makes it
//             |  collective group size { option }   a barrier has no size; the first member is the root, where there is one
//             |  ( "send" | "receive" ) size   only with a group named pipeline; the first stage receives nothing from before, and so on
//             |  "wait" [ name ]             for all that goes on beside, or for what goes on under that name
//             |  "repeat" count | "end"      what is between them, so many times
//   group     := name { "+" name } | "all"   of several: the ranks that differ in nothing but their places in these groups
//   option    := "beside" [ "as" name ]      computation goes on meanwhile
//             |  "first" | "last"            with the first or the last microbatch only
//             |  "by" algorithm protocol "channels" count [ "chunk" size ]   instead of what would be chosen
//   time      := number ( "us" | "ms" | "s" )
//   work      := number ( "GFLOP" | "TFLOP" | "PFLOP" );  rate := number ( "TFLOP/s" | "PFLOP/s" )
//   size      := number ( "B" | "KB" | "MB" | "GB" | "KiB" | "MiB" | "GiB" )
//
// A size is that of a rank's larger buffer, as nccl-tests counts it: what an all_gather puts out, what a reduce_scatter takes in, what an
// all_to_all sends to all together. Sends go on beside; receives are waited for.
//
// Layers whose weights are spread over ranks (ZeRO, FSDP) are gathered one ahead of the computation that needs them:
//
//     all_gather data 1.75GB beside as weights
//     repeat 80
//       wait weights
//       all_gather data 1.75GB beside as weights
//       compute 90ms
//       reduce_scatter data 1.75GB beside
//     end

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
  int group = kAll;  // in Workload::groups, and behind those in Workload::joined
  std::uint64_t bytes = 0;
  std::uint64_t times = 1;  // of kRepeat
  bool beside = false;
  int name =
      kNoName;  // in Workload::names: under which it goes on beside; of kWait: what it waits for, kNoName: everything
  When when = When::kAlways;
  std::optional<Way> by;
  static constexpr int kAll = -1;
  static constexpr int kNoName = -1;
};

struct Workload {
  struct Group {
    std::string name;
    int size = 1;
  };
  enum class Schedule : std::uint8_t { k1f1b, kAllForward };
  enum Section : std::uint8_t { kBegin, kForward, kBackward, kFinish, kSections };

  std::vector<Group> groups;  // the members of the first one are next to each other
  // Groups that collectives name together, each in the order of `groups`; no two are alike.
  std::vector<std::vector<int>> joined;
  std::vector<std::string> names;  // of what goes on beside
  double peak_tflop_per_s = 0;     // of a rank; 0: not said
  double sustained_tflop_per_s = 0;
  double parameters = 0, tokens = 0;  // 0: not said
  int microbatches = 1;
  Schedule schedule = Schedule::k1f1b;
  std::array<std::vector<Statement>, kSections> sections;

  int ranks() const;
  // The group named pipeline; -1: there is none.
  int pipeline() const;
  // The groups that a Statement::group stands for, in order; of kAll all of them.
  std::vector<int> GroupsOf(int group) const;
  // "tensor", "context+data", "all".
  std::string NameOf(int group) const;
};

// More than that is refused, so that a slip of the pen does not fill the memory.
inline constexpr int kMostWorkloadRanks = 1 << 20;
inline constexpr std::uint64_t kMostStatements = 1 << 20;  // of a section, repeated ones as often as they are

// Fails with the number of the line, what is wrong there and what would be right.
Result<Workload> ReadWorkload(std::string_view text);

}  // namespace tutti::sim

#endif  // TUTTI_SIM_WORKLOAD_H_
