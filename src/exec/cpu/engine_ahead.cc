// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The part of Engine that looks ahead of what runs: it tells the links to other hosts where in the user's memory data go that
// will come, so that they are put there as they arrive. What comes before that is told lands beside the ring, and is copied.
#include <algorithm>

#include "exec/cpu/engine.h"
#include "exec/cpu/prepared_plan.h"
#include "plan/early.h"
#include "transport/remote.h"
#include "transport/shm/fabric.h"

namespace tutti::exec::cpu {

using plan::Early;
using plan::Operand;
using plan::Step;
using transport::Reach;

namespace {

// Shorter messages are copied in less time than is taken to tell of them.
constexpr std::size_t kLeastAwaitedBytes = 16384;

}  // namespace

// Begins AwaitAhead for a job that begins, where it is of use. Ranks of several hosts have one channel.
bool Engine::BeginAhead(Job& job) {
  Part& part = job.parts[0];
  const bool of_use = job.protocol == proto::Protocol::kSimple && !part.plan->early.empty() && !part.done &&
                      std::min(part.chunk, part.count) * job.element >= kLeastAwaitedBytes;
  if (!of_use) return false;
  part.ahead_slot = part.ahead_step = 0;
  for (int peer = 0; peer < ranks_; ++peer) to_come_[peer] = fabric_->in(part.channel, peer).post_head;
  return true;
}

// Looks at the steps that follow those it has looked at, as far as the rings of posts go.
void Engine::AwaitAhead(const Job& job, Part& part) {
  const plan::RankPlan& plan = part.plan->plan;
  const int slots = part.rounds + part.plan->max_stage;
  const Early least = InPlace(job) ? Early::kAlways : Early::kSeparate;
  for (; part.ahead_slot < slots; ++part.ahead_slot, part.ahead_step = 0) {
    for (; part.ahead_step < plan.step_count(); ++part.ahead_step) {
      const Step step = plan.step(part.ahead_step);
      const int round = part.ahead_slot - step.stage;
      if (round < 0 || round >= part.rounds) continue;
      const Work work = WorkOf(job, part, step, round);
      if (work.elements == 0) continue;
      for (const Operand& operand : step.operands) {
        if (operand.kind != Operand::Kind::kRecv) continue;
        const transport::Incoming& rx = fabric_->in(part.channel, operand.index);
        if (rx.reach != Reach::kOtherHost) continue;
        std::uint64_t& post = to_come_[operand.index];
        if (part.plan->early[part.ahead_step] >= least) {  // a step with one operand
          if (post - rx.post_head >= fabric_->rings().posts()) return;
          remote_->Await(operand.index, {post, job.calls.mark, work.out, work.bytes});
        }
        ++post;
      }
    }
  }
}

// The same for a receive that is the next one of its link.
void Engine::AwaitPosts(Job& job, int index, int peer, const ReceiveBlock& block, std::size_t chunk) {
  const transport::Incoming& rx = fabric_->in(kTransferChannel, peer);
  if (rx.reach != Reach::kOtherHost || block.bytes < kLeastAwaitedBytes) return;
  TransferGroup::Progress& step = job.group.steps[index];
  const std::uint64_t ahead = fabric_->rings().posts();
  for (step.awaited = std::max(step.awaited, step.moved); step.awaited < block.bytes; step.awaited += chunk) {
    const std::uint64_t posts = (step.awaited - step.moved) / chunk;
    if (posts >= ahead) return;
    remote_->Await(peer, {rx.post_head + posts, block.mark, block.address + step.awaited,
                          std::min(chunk, block.bytes - step.awaited)});
  }
}

}  // namespace tutti::exec::cpu
