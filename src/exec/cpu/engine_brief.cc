// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The part of Engine that runs brief jobs (brief.h). Where one has to wait it becomes a job like any other, at the place that it has come to.
#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "exec/cpu/brief.h"
#include "exec/cpu/engine.h"
#include "exec/cpu/fold.h"
#include "exec/cpu/prepared_plan.h"
#include "exec/cpu/wire.h"
#include "transport/shm/fabric.h"

namespace tutti::exec::cpu {

using plan::Operand;
using plan::Step;
using proto::Protocol;
using transport::Incoming;
using transport::Outgoing;
using transport::RingSizes;

namespace {

template <Protocol P>
bool Read(Incoming& rx, const RingSizes& rings, std::uint64_t mark, std::byte* out, std::size_t bytes,
          std::size_t& progress, int spins) {
  if constexpr (P == Protocol::kLl) return ReadLl(rx, rings, mark, out, bytes, progress, spins);
  return ReadLl128(rx, rings, mark, out, bytes, progress, spins);
}

// False where there is no room.
template <Protocol P>
bool Write(Outgoing& tx, const RingSizes& rings, std::uint64_t mark, const std::byte* data, std::size_t bytes,
           bool awaited, int link_slots) {
  if constexpr (P == Protocol::kLl) {
    if (!RoomLl(tx, rings, bytes, link_slots)) return false;
    WriteLl(tx, rings, mark, data, bytes, awaited);
  } else {
    if (!RoomLl128(tx, rings, bytes, link_slots)) return false;
    WriteLl128(tx, rings, mark, data, bytes, awaited);
  }
  return true;
}

}  // namespace

// Two ranks that wait for each other lose what they gain by being brief: the sooner one looks for the other's message, the more often
// it takes away the line that is about to be written (docs/decisions/0031-brief-jobs.md).
bool Engine::IsBrief(const Job& job) const {
  const auto parts = std::span(job.parts).first(static_cast<std::size_t>(job.channels));
  return fabric_ != nullptr && remote_ == nullptr && (ranks_ > 2 || !job.mutual()) &&
         job.protocol != Protocol::kSimple && !job.scale_inputs && job.divisor <= 1 && job.stores == Stores::kCached &&
         !HasLargeBuffers(job) && std::ranges::all_of(parts, [](const Part& part) {
           return part.plan->runnable.ok() && (part.count == 0 || part.rounds == 1);
         });
}

void Engine::FindBrief(Job& job) {
  auto brief = std::make_shared<Brief>();
  if (IsBrief(job)) {
    brief->parts.resize(job.channels);
    for (int c = 0; c < job.channels; ++c) {
      if (job.parts[c].count > 0) FindBriefPart(job, job.parts[c], &brief->parts[c]);
    }
  }
  job.found.brief = std::move(brief);
}

void Engine::FindBriefPart(const Job& job, const Part& part, BriefPart* brief) {
  const plan::RankPlan& plan = part.plan->plan;
  for (int turn = 0; turn < plan.step_count(); ++turn) {
    const Step step = plan.step(part.plan->by_stage[turn]);
    const Work work = WorkOf(job, part, step, 0);
    if (work.elements == 0) continue;
    brief->steps.push_back({.turn = turn,
                            .operands = static_cast<int>(step.operands.size()),
                            .targets = static_cast<int>(step.to.size()),
                            .elements = work.elements,
                            .bytes = work.bytes});
    std::size_t elements;
    if (step.out != plan::kNoBlock) brief->steps.back().out = Offset(job, part, false, step.out, 0, &elements);
    for (const Operand& operand : step.operands) {
      if (!operand.local()) {
        brief->operands.push_back({.link = &fabric_->in(part.channel, operand.index)});
      } else {
        const bool input = operand.kind == Operand::Kind::kIn;
        brief->operands.push_back({.at = Offset(job, part, input, operand.index, 0, &elements), .input = input});
      }
    }
    for (const int peer : step.to) brief->targets.push_back({&fabric_->out(part.channel, peer), peer});
  }
}

// Stops before the end where a message is not there yet or has no room: `part` is then where it has come to.
template <Protocol P>
bool Engine::RunBriefPart(const Job& job, Part& part, const BriefPart& brief) {
  const RingSizes& rings = fabric_->rings();
  const bool mutual = job.mutual();
  const BriefOperand* operand = brief.operands.data();
  const BriefTarget* target = brief.targets.data();
  for (const BriefStep& step : brief.steps) {
    std::byte* const out = step.out == BriefStep::kNoOutput ? nullptr : job.out + step.out;
    for (int i = 0; i < step.operands; ++i, ++operand) {
      if (operand->link == nullptr) {
        part.operands[i] = (operand->input ? job.in : job.out) + operand->at;
        continue;
      }
      std::byte* const landing = step.operands == 1 && out != nullptr ? out : Scratch(part, i, step.bytes);
      std::size_t progress = 0;
      if (!Read<P>(*operand->link, rings, job.calls.mark, landing, step.bytes, progress, spins_)) [[unlikely]] {
        StartPart(part);
        part.turn = step.turn;
        part.operand = i;
        part.progress = progress;
        return false;
      }
      part.operands[i] = landing;
    }
    const auto* value = static_cast<const std::byte*>(part.operands[0]);
    if (step.operands > 1) {
      std::byte* const folded = out != nullptr ? out : Scratch(part, step.operands, step.bytes);
      job.fold(folded, part.operands.data(), step.operands, step.elements, Stores::kCached);
      value = folded;
    } else if (out != nullptr) {
      CopyBytes(out, value, step.bytes);
      value = out;
    }
    for (int i = 0; i < step.targets; ++i, ++target) {
      if (!Write<P>(*target->link, rings, job.calls.mark, value, step.bytes, mutual, part.plan->footprint.link_slots))
          [[unlikely]] {
        StartPart(part);
        part.turn = step.turn;
        part.computed = true;
        part.value = value;
        part.sent = i;
        return false;
      }
      fabric_->Nudge(target->peer);
    }
    ++moves_;
  }
  return true;
}

Engine::AtOnce Engine::RunBrief(Job& job) {
  if (job.found.brief == nullptr) [[unlikely]]
    FindBrief(job);
  const std::vector<BriefPart>& parts = job.found.brief->parts;
  if (parts.empty()) return AtOnce::kNotBrief;
  const auto run = [&](int c) {
    return job.protocol == Protocol::kLl ? RunBriefPart<Protocol::kLl>(job, job.parts[c], parts[c])
                                         : RunBriefPart<Protocol::kLl128>(job, job.parts[c], parts[c]);
  };
  int channel = 0;
  while (channel < job.channels && run(channel)) ++channel;
  if (channel == job.channels) [[likely]]
    return AtOnce::kDone;
  for (int c = 0; c < job.channels; ++c) {
    if (c != channel) StartPart(job.parts[c]);
    if (c < channel) job.parts[c].done = true;
  }
  return AtOnce::kStopped;
}

}  // namespace tutti::exec::cpu
