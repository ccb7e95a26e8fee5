// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
//
// From programs to their short forms (exec/gpu/format/program.h).
#include "exec/gpu/lower/compile.h"

namespace tutti::exec::gpu {
namespace {

static_assert(kMostShortSends == plan::kMostFlatSends && kMostShortTakes == plan::kMostFlatTakes);

// Makes the short form of a plan, a step at a time.
class ShortFormMaker {
 public:
  // `form`: without sends and takes.
  ShortFormMaker(const Shape& shape, const transport::p2p::Geometry& geometry, const Program& program, ShortForm& form)
      : program_(program),
        geometry_(geometry),
        protocol_(static_cast<int>(shape.protocol)),
        piece_(program.count * program.element),
        form_(form) {}

  bool SendsInput(const ProgramStep& step) const {
    return step.operands == 1 && program_.operand(step.first_operand).kind == ProgramOperand::kIn;
  }

  // False: there is no room.
  bool AddSends(const ProgramStep& step, ShortSend (&list)[kMostShortSends], std::uint16_t& sends) const {
    const ProgramOperand& only = program_.operand(step.first_operand);
    if (SendsInput(step) && only.block != step.block) return false;
    for (int t = 0; t < step.targets; ++t) {
      const ProgramTarget& target = program_.target(step.first_target + t);
      if (sends == kMostShortSends) return false;
      list[sends++] = {.from = SendsInput(step) ? Input(only) : 0,
                       .to = Ring(target.peer, program_.rank),
                       .unit = target.message * program_.message_units,
                       .block = step.block};
    }
    return true;
  }

  // The value that a step stores or passes on. False: there is no room, or it is made of what has been stored.
  bool AddTakes(const ProgramStep& step, std::uint16_t& takes, int most) const {
    const std::uint64_t out = Output(step);
    if (SendsInput(step) && out == 0) return true;
    for (int k = 0; k < step.operands; ++k) {
      const ProgramOperand& operand = program_.operand(step.first_operand + k);
      const bool receives = operand.kind == ProgramOperand::kRecv, ends = k + 1 == step.operands;
      if (operand.kind == ProgramOperand::kOut || takes == most) return false;
      if (!receives && operand.block != step.block) return false;
      form_.take[form_.takes + form_.late] = {
          .at = receives ? Ring(program_.rank, operand.peer) : Input(operand),
          .out = ends ? out : 0,
          .unit = receives ? operand.index * program_.message_units : 0,
          .peer = operand.peer,
          .block = static_cast<std::uint8_t>(step.block),
          .ring = static_cast<std::uint8_t>(receives ? 1 : 0),
          .place = static_cast<std::uint8_t>((k == 0 ? kBegins : 0) | (ends ? kEnds : 0))};
      ++takes;
    }
    return true;
  }

 private:
  std::uint64_t Input(const ProgramOperand& operand) const {
    return reinterpret_cast<std::uint64_t>(program_.in) + operand.index * piece_;
  }
  // Where a step stores; 0: nowhere, or its input lies there already.
  std::uint64_t Output(const ProgramStep& step) const {
    if (step.stores == 0) return 0;
    const std::uint64_t out = reinterpret_cast<std::uint64_t>(program_.out) + step.piece * piece_;
    const ProgramOperand& only = program_.operand(step.first_operand);
    const bool stays = SendsInput(step) && only.block == step.block && Input(only) == out && program_.scale == kNoScale;
    return stays ? 0 : out;
  }
  std::uint64_t Ring(int receiver, int sender) const {
    return reinterpret_cast<std::uint64_t>(program_.segments[receiver]) +
           geometry_.Ring(protocol_, transport::p2p::Place(receiver, sender), 0);
  }

  const Program& program_;
  const transport::p2p::Geometry& geometry_;
  const int protocol_;
  const std::uint64_t piece_;  // bytes
  ShortForm& form_;
};

// False where there is none.
bool MakeShortForm(const Program& program, const ShortFormMaker& maker, ShortForm& form) {
  const auto passes_on = [&](const ProgramStep& step) { return step.targets > 0 && !maker.SendsInput(step); };
  for (int i = 0; i < program.steps; ++i) {
    const ProgramStep& step = program.step(i);
    if (!passes_on(step)) continue;
    if (form.takes > 0 || !maker.AddSends(step, form.forward, form.forwards)) return false;
    if (!maker.AddTakes(step, form.takes, kMostShortTakes)) return false;
  }
  const bool late = form.takes > 0;
  for (int i = 0; i < program.steps; ++i) {
    const ProgramStep& step = program.step(i);
    if (passes_on(step)) continue;
    if (!maker.AddSends(step, form.send, form.sends)) return false;
    if (step.stores == 0) continue;
    if (!maker.AddTakes(step, late ? form.late : form.takes, late ? kMostShortSends : kMostShortTakes)) return false;
  }
  return true;
}

}  // namespace

void AddShortForm(const PreparedPlan& plan, const Shape& shape, const transport::p2p::Geometry& geometry,
                  const plan::Cuts& cuts, Program& program) {
  program.is_short = kSteps;
  // Where its input is stored elsewhere, MakeShortForm finds out whether there is room for that too.
  if (!plan::HasFlatForm(plan.lists, static_cast<int>(shape.protocol), plan::Copied::kStays)) return;
  // Of several rounds without a fold, the steps are as fast.
  const bool many_pay = shape.protocol == proto::Protocol::kLl128 && Reduces(plan.collective);
  if (program.rounds > (many_pay ? static_cast<std::uint32_t>(cuts.short_rounds) : 1)) return;
  if (program.scale == kScaleFromMemory || program.divisor != 0 || plan.code_words > Program::kShortAt ||
      plan.blocks_per_piece > kSeats) {
    return;
  }
  auto& form = *reinterpret_cast<ShortForm*>(program.code + Program::kShortAt);
  form.sends = form.forwards = form.takes = form.late = 0;
  if (!MakeShortForm(program, ShortFormMaker(shape, geometry, program, form), form)) return;
  // Late takes are two time slots behind the sends, and rings hold max_stage + 2 rounds.
  if (form.late > 0 && program.rounds > 1 && program.max_stage == 0) return;
  const auto bytes = [&](std::uint64_t elements) { return static_cast<std::uint32_t>(elements * program.element); };
  form.bytes[0] = bytes(program.part_elements);
  form.bytes[1] = bytes(program.parts[1].count);
  for (int i = 0; i < 2; ++i) form.block_bytes[i] = bytes(program.parts[i].block);
  form.chunk_bytes = bytes(program.chunk);
  form.ring_bytes = geometry.peers() * std::uint64_t{program.ring_bytes};
  // With more blocks, or with one peer, it takes longer (docs/decisions/0009-short-forms.md).
  constexpr int kOfOnePeer = 3;  // a send, and takes of the own input and of the peer
  const bool together = shape.protocol == proto::Protocol::kLl && shape.channels <= cuts.short_together_channels &&
                        form.sends + form.takes > kOfOnePeer;
  program.is_short = together ? kShortTogether : kShort;
}

}  // namespace tutti::exec::gpu
