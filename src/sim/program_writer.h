// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SIM_PROGRAM_WRITER_H_
#define TUTTI_SIM_PROGRAM_WRITER_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plan/plan.h"
#include "sim/program.h"

namespace tutti::sim {

// Bytes of the blocks of a plan.
class Sizes {
 public:
  Sizes(const plan::RankPlan& plan, const Cut& cut) : plan_(plan), bytes_(cut.bytes), equal_(cut.equal_blocks) {
    if (plan.in_blocks > 0) per_piece_ = plan.in_blocks / plan::InPieces(plan.collective, plan.ranks);
    if (plan.out_blocks > 0) per_piece_ = plan.out_blocks / plan::OutPieces(plan.collective, plan.ranks);
    per_piece_ = std::max(per_piece_, 1);
    cut_ = plan::BlockCut::Equal(cut.bytes, per_piece_, cut.granule);
  }

  std::uint64_t Of(const plan::Step& step) const {
    if (step.out != plan::kNoBlock) return OfBlock(step.out, plan_.out_sizes);
    for (const plan::Operand& operand : step.operands) {
      if (operand.kind == plan::Operand::Kind::kIn) return OfBlock(operand.index, plan_.in_sizes);
      if (operand.kind == plan::Operand::Kind::kOut) return OfBlock(operand.index, plan_.out_sizes);
    }
    return OfBlock(0, {});  // passed on: all blocks are equal
  }

 private:
  std::uint64_t OfBlock(int block, const std::vector<std::size_t>& sizes) const {
    if (!sizes.empty()) return sizes[static_cast<std::size_t>(block)];
    if (equal_) return (bytes_ + static_cast<std::uint64_t>(per_piece_) - 1) / static_cast<std::uint64_t>(per_piece_);
    return cut_.Size(block % per_piece_);
  }

  const plan::RankPlan& plan_;
  std::uint64_t bytes_;
  bool equal_;
  int per_piece_ = 1;
  plan::BlockCut cut_;
};

inline Work WorkOf(const plan::Step& step) {
  Work work;
  const int received = step.received();
  const bool folds = step.values() > 1, offers = plan::IsOffer(step.sending);
  work.written = offers ? 0 : static_cast<float>(step.sent());
  work.posted = work.written > 0 ? 1 : 0;
  (folds ? work.folded_in : work.moved_in) = static_cast<float>(received);
  work.folded = folds ? static_cast<float>(step.values()) : 0;
  work.copied = received == 0 && !folds && step.sent() == 0 ? 1 : 0;
  return work;
}

inline void Add(const Work& more, Work& work) {
  work.written += more.written;
  work.posted += more.posted;
  work.moved_in += more.moved_in;
  work.folded_in += more.folded_in;
  work.folded += more.folded;
  work.copied += more.copied;
}

// The place of a value in a table that has few different ones.
template <typename T>
std::uint32_t PlaceOf(std::vector<T>& table, const T& value) {
  for (std::size_t i = table.size(); i-- > 0;) {
    if (table[i] == value) return static_cast<std::uint32_t>(i);
  }
  table.push_back(value);
  return static_cast<std::uint32_t>(table.size()) - 1;
}

// Writes a program step by step.
class Writer {
 public:
  Writer(const plan::RankPlan& plan, const Cut& cut) {
    program_.link_slots = plan.link_slots;
    chunk_bytes_ = cut.chunk_bytes;
  }
  // The place in Program::wires of one of them.
  std::uint32_t WireAt(const Program::Wire& wire) {
    const std::uint64_t key = static_cast<std::uint64_t>(wire.turns) << 32 | wire.place;
    const auto [known, fresh] = wire_at_.try_emplace(key, static_cast<std::uint32_t>(program_.wires.size()));
    if (fresh) program_.wires.push_back(wire);
    return known->second;
  }
  void Begin() {
    step_ = {.first_end = static_cast<std::uint32_t>(program_.ends.size())};
    work_ = {};
    wanted_.clear();
  }
  void Receive(std::uint32_t wire) {
    const auto before = static_cast<std::uint32_t>(std::ranges::count(wanted_, wire));
    wanted_.push_back(wire);
    program_.ends.push_back({.wire = wire, .count = before + 1});
    ++step_.receives;
  }
  void Send(std::uint32_t wire, std::uint32_t blocks) {
    program_.ends.push_back({.wire = wire, .count = blocks});
    ++step_.sends;
  }
  void AddWork(const Work& work) { Add(work, work_); }
  // The step that is being written sends through switches.
  void SendBy(plan::Sending sending, std::span<const std::uint32_t> groups) {
    using enum Program::Switching::Kind;
    program_.switching.resize(program_.steps.size() + 1);
    program_.switching.back() = {.kind = !plan::IsOffer(sending)            ? kMulticast
                                         : sending == plan::Sending::kOffer ? kOffers
                                                                            : kOfferOnce,
                                 .first_group = static_cast<std::uint32_t>(program_.groups.size())};
    program_.groups.insert(program_.groups.end(), groups.begin(), groups.end());
  }
  void End(std::uint64_t block_bytes, int stage) {
    step_.stage = stage;
    step_.work = PlaceOf(program_.works, work_);
    step_.block = PlaceOf(program_.blocks, block_bytes);
    program_.steps.push_back(step_);
    program_.last_stage = std::max(program_.last_stage, stage);
  }
  Program Finish() {
    if (!program_.switching.empty()) program_.switching.resize(program_.steps.size());
    std::uint64_t most = 0;
    for (const std::uint64_t bytes : program_.blocks) most = std::max(most, bytes);
    const std::uint64_t chunk = chunk_bytes_ == 0 ? most : std::min(chunk_bytes_, most);
    program_.rounds = most == 0 ? 0 : static_cast<int>((most + chunk - 1) / chunk);
    return std::move(program_);
  }

 private:
  Program program_;
  Program::Step step_;
  Work work_;
  std::uint64_t chunk_bytes_ = 0;
  std::vector<std::uint32_t> wanted_;
  std::unordered_map<std::uint64_t, std::uint32_t> wire_at_;
};

// A step for each one of the plan. from(rank), to(rank): the wire of what comes from, or goes to, there. more(writer, i): what else step i
// of the plan is written with.
template <typename From, typename To, typename More>
Program WriteSteps(const plan::RankPlan& plan, const Cut& cut, From from, To to, More more) {
  const Sizes sizes(plan, cut);
  Writer writer(plan, cut);
  for (int i = 0; i < plan.step_count(); ++i) {
    const plan::Step step = plan.step(i);
    writer.Begin();
    for (const plan::Operand& operand : step.operands) {
      if (!operand.local()) writer.Receive(writer.WireAt(from(operand.index)));
    }
    for (const std::int32_t rank : step.to) writer.Send(writer.WireAt(to(rank)), 1);
    more(writer, i);
    writer.AddWork(WorkOf(step));
    writer.End(sizes.Of(step), step.stage);
  }
  return writer.Finish();
}

}  // namespace tutti::sim

#endif  // TUTTI_SIM_PROGRAM_WRITER_H_
