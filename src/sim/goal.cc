// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/goal.h"

#include <fmt/format.h>

#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "sim/plans.h"
#include "sim/run.h"

namespace tutti::sim {
namespace {

// The operations of one rank.
class RankText {
 public:
  explicit RankText(int rank) { fmt::format_to(std::back_inserter(text_), "rank {} {{\n", rank); }

  void AddChannel(Run& run, std::uint32_t index) {
    Lane& lane = run.lanes()[index];
    before_.clear();
    while (run.Advance(lane)) AddStep(run, lane, run.channel_of(index));
  }
  std::string Finish() {
    text_ += "}\n";
    return std::move(text_);
  }

 private:
  void AddStep(Run& run, const Lane& lane, int channel) {
    const Program::Step& step = run.StepOf(lane);
    const Program::End* const ends = lane.program->ends.data() + step.first_end;
    std::vector<int> received;
    for (std::uint32_t i = 0; i < step.receives; ++i) {
      const Wire& wire = run.wires()[run.WireOf(lane, ends[i])];
      Add("recv", lane.bytes, "from", run.lanes()[wire.from].rank, channel);
      Require(before_, starts_);
      received.push_back(last_);
    }
    int sent = -1;
    for (std::uint32_t i = step.receives; i < step.receives + step.sends; ++i) {
      const Wire& wire = run.wires()[run.WireOf(lane, ends[i])];
      Add("send", lane.bytes, "to", run.lanes()[wire.to].rank, channel);
      if (sent >= 0) {
        Require({sent}, true);
      } else if (!received.empty()) {
        Require(received, false);
      } else {
        Require(before_, starts_);
      }
      sent = last_;
    }
    if (sent >= 0) {
      before_ = {sent};
      starts_ = true;
    } else if (!received.empty()) {
      before_ = received;
      starts_ = false;
    }
  }
  void Add(std::string_view what, std::uint64_t bytes, std::string_view word, int peer, int channel) {
    last_ = next_++;
    fmt::format_to(std::back_inserter(text_), "l{}: {} {}b {} {} tag {}\n", last_, what, bytes, word, peer, channel);
  }
  void Require(const std::vector<int>& others, bool starts) {
    for (const int other : others) {
      fmt::format_to(std::back_inserter(text_), "l{} {} l{}\n", last_, starts ? "irequires" : "requires", other);
    }
  }

  std::string text_;
  int next_ = 0, last_ = -1;
  std::vector<int> before_;  // what the next step comes after
  bool starts_ = false;      // it need only have started
};

}  // namespace

Status WriteGoal(const Operation& operation, int ranks, const std::function<void(std::string_view)>& write) {
  if (operation.plans == nullptr || ranks < 1 || operation.channels < 1 || operation.granule_bytes < 1) {
    return Status(
        Code::kInvalidArgument,
        fmt::format("operation {} has no plans, no ranks, no channels or a granule of 0 bytes", operation.name));
  }
  if (operation.plans->UsesSwitches()) {
    return Status(
        Code::kUnsupported,
        fmt::format("{} has values that switches copy or fold, which GOAL cannot say; choose another algorithm",
                    operation.name));
  }
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  Run run(*operation.plans, all,
          {.ranks = ranks,
           .channels = operation.channels,
           .bytes = operation.bytes,
           .chunk_bytes = operation.chunk_bytes,
           .granule_bytes = operation.granule_bytes});
  write(fmt::format("num_ranks {}\n", ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    run.Begin(rank);
    RankText text(rank);
    for (int channel = 0; channel < operation.channels; ++channel) text.AddChannel(run, run.LaneOf(rank, channel));
    write(text.Finish());
  }
  return Status::Ok();
}

}  // namespace tutti::sim
