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
#include "exec/cpu/pool.h"
#include "exec/cpu/prepared_plan.h"
#include "exec/cpu/wire.h"
#include "transport/shm/fabric.h"

namespace tutti::exec::cpu {

using plan::Operand;
using plan::Step;
using proto::PostKind;
using proto::Protocol;
using transport::Incoming;
using transport::Outgoing;
using transport::RingSizes;

namespace {

// False where the message is not there yet. Else `where` is where it lies, which by Simple is in the pages of who sent it.
template <Protocol P>
bool Receive(Incoming& rx, const RingSizes& rings, std::uint64_t mark, std::size_t bytes, std::size_t long_bytes_max,
             int spins, std::byte* landing, std::size_t& progress, const void** where) {
  *where = landing;
  if constexpr (P == Protocol::kLl) return ReadLl(rx, rings, mark, landing, bytes, progress, spins);
  if constexpr (P == Protocol::kLl128) return ReadLl128(rx, rings, mark, landing, bytes, progress, spins);
  const proto::Post* post = LookAtPost(rx, rings, mark, spins);
  if (post == nullptr || post->kind != PostKind::kPool) return false;
  *where = rx.PoolData(post->address, bytes, post->readers == 1 ? long_bytes_max : 0);
  ++rx.post_head;
  LookAhead(rx, rings);
  return true;
}

template <Protocol P>
bool HasRoom(Outgoing& tx, const RingSizes& rings, std::size_t bytes, int link_slots) {
  if constexpr (P == Protocol::kLl) return RoomLl(tx, rings, bytes, link_slots);
  if constexpr (P == Protocol::kLl128) return RoomLl128(tx, rings, bytes, link_slots);
  return RoomPost(tx, rings);
}

}  // namespace

// By LL and LL128 two ranks that wait for each other lose more than they gain by being brief (docs/decisions/0031-brief-jobs.md).
bool Engine::IsBrief(const Job& job) const {
  const auto parts = std::span(job.parts).first(static_cast<std::size_t>(job.channels));
  return fabric_ != nullptr && remote_ == nullptr &&
         (ranks_ > 2 || !job.mutual() || job.protocol == Protocol::kSimple) && !job.by_reference && !job.scale_inputs &&
         job.divisor <= 1 && job.stores == Stores::kCached && !HasLargeBuffers(job) &&
         std::ranges::all_of(parts, [&](const Part& part) {
           const bool once = part.rounds == 1 && part.chunk * job.element < proto::kLeastStreamedBytes;
           return part.plan->runnable.ok() && (part.count == 0 || once);
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
        brief->operands.push_back({.link = &fabric_->in(part.channel, operand.index), .peer = operand.index});
      } else {
        const bool input = operand.kind == Operand::Kind::kIn;
        brief->operands.push_back({.at = Offset(job, part, input, operand.index, 0, &elements), .input = input});
      }
    }
    for (const int peer : step.to) brief->targets.push_back({&fabric_->out(part.channel, peer), peer});
  }
}

// Finds or receives operands of a step, as many as are there.
template <Protocol P>
inline int Engine::GatherBrief(const Job& job, Part& part, const BriefStep& step, const BriefOperand* operands) {
  const bool to_output = step.operands == 1 && step.out != BriefStep::kNoOutput;
  for (int i = 0; i < step.operands; ++i) {
    const BriefOperand& operand = operands[i];
    if (operand.link == nullptr) {
      part.operands[i] = (operand.input ? job.in : job.out) + operand.at;
      continue;
    }
    std::byte* const landing = to_output ? job.out + step.out : Scratch(part, i, step.bytes);
    std::size_t progress = 0;
    if (!Receive<P>(*operand.link, fabric_->rings(), job.calls.mark, step.bytes, part.plan->long_bytes_max, spins_,
                    landing, progress, &part.operands[i])) [[unlikely]] {
      part.progress = progress;
      return i;
    }
  }
  return step.operands;
}

// Folds or moves the operands to where the step wants its value, which is in `pages` where there are any, and gives the received ones back.
template <Protocol P>
inline void Engine::ComputeBrief(const Job& job, Part& part, const BriefStep& step, const BriefOperand* operands,
                                 std::byte* pages) {
  std::byte* const out = step.out == BriefStep::kNoOutput ? nullptr : job.out + step.out;
  part.value = static_cast<const std::byte*>(part.operands[0]);
  if (step.operands > 1) {
    std::byte* target = out != nullptr ? out : pages;
    if (target == nullptr) target = Scratch(part, step.operands, step.bytes);
    job.fold(target, part.operands.data(), step.operands, step.elements, Stores::kCached);
    part.value = target;
  } else if (out != nullptr) {
    CopyBytes(out, part.value, step.bytes);
    part.value = out;
  }
  if (P != Protocol::kSimple) return;
  if (pages != nullptr) {
    CopyBytes(pages, part.value, step.bytes);
    part.value = pages;
    if (job.mutual()) Demote({pages, step.bytes});
  }
  for (int i = 0; i < step.operands; ++i) {
    if (operands[i].link == nullptr) continue;
    ReleasePosts(*operands[i].link);
    fabric_->Nudge(operands[i].peer);
  }
}

// Sends the value to targets of a step, to as many as there is room for.
template <Protocol P>
inline int Engine::SendBrief(const Job& job, const Part& part, const BriefStep& step, const BriefTarget* targets,
                             int slot) {
  const RingSizes& rings = fabric_->rings();
  const std::uint64_t mark = job.calls.mark;
  const bool mutual = job.mutual();
  for (int i = 0; i < step.targets; ++i) {
    Outgoing& tx = *targets[i].link;
    if (!HasRoom<P>(tx, rings, step.bytes, part.plan->footprint.link_slots)) [[unlikely]]
      return i;
    if constexpr (P == Protocol::kLl) WriteLl(tx, rings, mark, part.value, step.bytes, mutual);
    if constexpr (P == Protocol::kLl128) WriteLl128(tx, rings, mark, part.value, step.bytes, mutual);
    if constexpr (P == Protocol::kSimple) {
      const auto readers = static_cast<std::uint32_t>(step.targets);
      const std::uint64_t offset = pool_->Offset(slot);
      pool_->AddReader(slot, &tx, WritePost(tx, rings, mark, PostKind::kPool, offset, step.bytes, 0, readers));
      if (mutual) DemotePost(tx, rings);
    }
    fabric_->Nudge(targets[i].peer);
  }
  return step.targets;
}

// Stops before the end where a message is not there yet or has no room: `part` is then where it has come to.
template <Protocol P>
bool Engine::RunBriefPart(const Job& job, Part& part, const BriefPart& brief) {
  const BriefOperand* operands = brief.operands.data();
  const BriefTarget* targets = brief.targets.data();
  for (const BriefStep& step : brief.steps) {
    part.progress = 0;
    const int gathered = GatherBrief<P>(job, part, step, operands);
    const bool needs_pages = P == Protocol::kSimple && step.targets > 0;
    const int slot = needs_pages && gathered == step.operands ? pool_->Take(step.bytes, part.channel) : -1;
    if (gathered < step.operands || (needs_pages && slot < 0)) [[unlikely]] {
      const std::size_t progress = part.progress;
      StartPart(part);
      part.turn = step.turn;
      part.operand = gathered;
      part.progress = progress;
      return false;
    }
    ComputeBrief<P>(job, part, step, operands, slot >= 0 ? pool_->Data(slot) : nullptr);
    const int sent = SendBrief<P>(job, part, step, targets, slot);
    if (sent < step.targets) [[unlikely]] {
      StartPart(part);
      part.turn = step.turn;
      part.computed = true;
      part.pool_slot = slot;
      part.sent = sent;
      return false;
    }
    if (slot >= 0) {
      pool_->Release(slot);
      PrefetchForWrite(pool_->Next(step.bytes, part.channel));
    }
    operands += step.operands;
    targets += step.targets;
    ++moves_;
  }
  return true;
}

Engine::AtOnce Engine::RunBrief(Job& job) {
  if (job.found.brief == nullptr) [[unlikely]]
    FindBrief(job);
  const std::vector<BriefPart>& parts = job.found.brief->parts;
  if (parts.empty() || !CutPool(job)) return AtOnce::kNotBrief;
  const auto run = [&](int c) {
    switch (job.protocol) {
      case Protocol::kLl:
        return RunBriefPart<Protocol::kLl>(job, job.parts[c], parts[c]);
      case Protocol::kLl128:
        return RunBriefPart<Protocol::kLl128>(job, job.parts[c], parts[c]);
      case Protocol::kSimple:
        break;
    }
    return RunBriefPart<Protocol::kSimple>(job, job.parts[c], parts[c]);
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
