// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The part of Engine that says what its first job waits for.
#include <fmt/format.h>

#include <algorithm>

#include "exec/cpu/engine.h"
#include "exec/cpu/pool.h"
#include "exec/cpu/prepared_plan.h"
#include "exec/cpu/wire.h"
#include "transport/remote.h"
#include "transport/shm/fabric.h"

namespace tutti::exec::cpu {

using plan::Operand;
using plan::Step;
using proto::Protocol;

bool Engine::TurnRemote(const Job& job) { return remote_->Turn(job.waits_for); }

void Engine::RestRemote() { remote_->Rest(); }

bool Engine::WaitsForPeerOn(int cpu) const {
  if (first_ == nullptr || first_->waits_for < 0) return false;
  const Job& job = *first_;
  if (fabric_->CpuOf(job.waits_for) == cpu) return true;
  if (job.collective == Collective::kSendRecv || job.waits_what != Job::WaitsFor::kData) return false;
  const Part& part = job.parts[job.waiting_part];
  const plan::RankPlan& plan = part.plan->plan;
  const int stage = plan.step(part.step).stage;
  std::size_t first = part.operand + 1;
  for (int s = part.step; s < plan.step_count(); ++s, first = 0) {
    const Step step = plan.step(s);
    if (step.stage != stage) break;  // what comes later may need what this rank has yet to send
    for (std::size_t i = first; i < step.operands.size(); ++i) {
      const Operand& operand = step.operands[i];
      if (operand.kind != Operand::Kind::kRecv || fabric_->CpuOf(operand.index) != cpu) continue;
      if (!PeekNext(fabric_->in(part.channel, operand.index), fabric_->rings(), job.protocol).arrived) return true;
    }
  }
  return false;
}

bool Engine::WaitsOnlyForPeer() {
  if (first_ == nullptr || first_->waits_for < 0) return false;
  if (first_->waits_what != Job::WaitsFor::kPages) return true;
  const auto to_peer = [&](const transport::Outgoing* link) {
    for (int channel = 0; channel < fabric_->channels(); ++channel) {
      if (link == &fabric_->out(channel, first_->waits_for)) return true;
    }
    return false;
  };
  return pool_->EverySlotIsReadBy(to_peer);
}

std::optional<Foreign> Engine::FindForeign() const {
  if (first_ == nullptr || fabric_ == nullptr) return std::nullopt;
  const Job& job = *first_;
  const auto check = [&](int channel, int peer, Protocol protocol, std::uint64_t mark,
                         std::size_t progress) -> std::optional<Foreign> {
    const Next next = PeekNext(fabric_->in(channel, peer), fabric_->rings(), protocol, progress);
    if (!next.arrived || next.mark == (mark & next.bits)) return std::nullopt;
    return Foreign{.peer = peer, .mark = next.mark, .bits = next.bits, .expected = mark};
  };
  if (job.collective != Collective::kSendRecv) {
    if (job.waits_what != Job::WaitsFor::kData) return std::nullopt;
    const Part& part = job.parts[job.waiting_part];
    return check(part.channel, job.waits_for, job.protocol, job.calls.mark, part.progress);
  }
  const TransferGroup& group = job.group;
  const std::vector<int>& previous = group.plan->previous;
  for (int i = 0; i < static_cast<int>(group.steps.size()); ++i) {
    const Step step = group.plan->plan.step(i);
    if (group.steps[i].done || step.operands[0].kind != Operand::Kind::kRecv) continue;
    if (previous[i] >= 0 && !group.steps[previous[i]].done) continue;
    const ReceiveBlock& block = group.receives[step.out];
    const std::optional<Foreign> found =
        check(kTransferChannel, step.operands[0].index, block.lane.protocol, block.mark, group.steps[i].arrived);
    if (found) return found;
  }
  return std::nullopt;
}

std::string Engine::DescribeWait() const {
  if (first_ == nullptr) return "nothing";
  const Job& job = *first_;
  const char* what = job.waits_what == Job::WaitsFor::kData      ? "for data from"
                     : job.waits_what == Job::WaitsFor::kReaders ? "for its buffer to be read by"
                                                                 : "for room to send to";
  std::string where = job.first_plan().name;
  if (job.collective != Collective::kSendRecv) {
    const Part& part = job.parts[job.waiting_part];
    const int steps = part.plan->plan.step_count();
    where += fmt::format(" {}, step {} of {}, round {} of {}", proto::Name(job.protocol),
                         std::min(part.step + 1, steps), steps, std::min(part.slot + 1, part.rounds), part.rounds);
  }
  return job.waits_for < 0 ? fmt::format("for shared pages to be read, in {}", where)
                           : fmt::format("{} rank {} in {}", what, job.waits_for, where);
}

}  // namespace tutti::exec::cpu
