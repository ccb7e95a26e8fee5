// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0

// The part of Engine in which ranks write finished values to their places in each other's outputs (shared_copy.h, "whole outputs").
// Who has just made a value has it in a close cache. A peer that fetched it from there would take longer, and could begin only when all of
// it is made.

#include <algorithm>
#include <span>

#include "exec/cpu/engine.h"
#include "exec/cpu/prepared_plan.h"
#include "exec/cpu/shared_copy.h"
#include "exec/cpu/wire.h"
#include "transport/shm/fabric.h"

namespace tutti::exec::cpu {

namespace {

// Shorter values are fetched. Operations on so few bytes go by shared pages, where no setting says otherwise.
constexpr std::size_t kLeastPutBytes = 4096;

}  // namespace

using plan::Step;
using transport::Incoming;
using transport::Reach;

// Whether values may be put into the output while others still read the input: where these do not overlap, or where the input lies
// exactly where its values go. Who makes a value is then the only one to read what lies at its place, and has read it before.
bool Engine::MayTakeValues(const Job& job) const { return job.in == job.out || !InPlace(job); }

// Offers the output to all ranks of this host.
void Engine::OfferOutputs(Job& job) {
  const auto parts = std::span(job.parts).first(static_cast<std::size_t>(job.channels));
  offers_output_ = std::ranges::all_of(parts, [](const Part& part) { return part.plan->takes_values; }) &&
                   parts[0].chunk * job.element >= kLeastPutBytes && MayTakeValues(job);
  if (!offers_output_) return;
  for (const Part& part : parts) {
    for (int peer = 0; peer < ranks_; ++peer) {
      Incoming& rx = fabric_->in(part.channel, peer);
      if (peer == rank_ || rx.reach == Reach::kOtherHost) continue;
      ShareOf(part.channel, peer) = {.open = true, .index = rx.post_head + kOutputBit};
      OfferOutput(rx.credit->offer, rx.post_head, job.calls.mark, job.out);
    }
  }
}

// All has arrived, so that nobody writes there any more.
void Engine::CloseOutputs(Job& job) {
  offers_output_ = false;
  for (int c = 0; c < job.channels; ++c) {
    for (int peer = 0; peer < ranks_; ++peer) ShareOf(job.parts[c].channel, peer).open = false;
  }
}

// Finds out whether a step's value may be written to its place in the outputs of those who get it. Of jobs that go by reference.
void Engine::FindPlace(const Job& job, Part& part, const Step& step, const Work& work, int round) {
  part.place = Part::kNowhere;
  part.at_root = part.at_root_here = nullptr;
  if (!part.plan->puts[part.step]) return;
  if (job.collective == Collective::kReduce) return FindPlaceAtRoot(job, part, step, work, round);
  if (!MayRefer(job) || !OffersOutput(fabric_->out(part.channel, step.to[0]).credit->offer, job.calls.mark)) return;
  std::size_t elements;
  part.place = Offset(job, part, false, step.out, round, &elements);
}

// The same of a reduce, whose values lie in no output of this rank: they are made where the root wants them, or in scratch memory first.
// Claims the root's output until EndPlacing.
void Engine::FindPlaceAtRoot(const Job& job, Part& part, const Step& step, const Work& work, int round) {
  const int root = step.to[0];
  transport::Outgoing& tx = fabric_->out(part.channel, root);
  if (!RoomPost(tx, fabric_->rings())) return;
  proto::Post& next = NextPost(tx, fabric_->rings());
  std::byte* const out = ClaimOutput(tx.credit->offer, next, job.calls.mark);
  if (out == nullptr) return;
  const auto own = std::ranges::find_if(step.operands, &plan::Operand::local);
  std::size_t elements;
  part.place = Offset(job, part, true, own->index, round, &elements);
  part.at_root_here = Reachable(root, out + part.place, work.bytes);
  if (part.at_root_here == nullptr && !can_write_) {
    part.place = Part::kNowhere;
    return EndOutput(next);
  }
  part.at_root = out + part.place;
}

// Brings the value to the root, if it is not there yet. Where the system refuses, the root fetches it from scratch memory. Nothing else
// comes to lie in that part of it from then on (Landing).
void Engine::EndPlacing(Part& part, const Step& step, std::size_t bytes) {
  const int root = step.to[0];
  if (part.at_root_here == nullptr && !WriteToPeer(root, part.at_root, part.value, bytes)) {
    part.at_root = nullptr;
    part.place = Part::kNowhere;
  }
  EndOutput(NextPost(fabric_->out(part.channel, root), fabric_->rings()));
}

// Writes the value to its place in a peer's output and says so. False where the peer has to fetch it.
bool Engine::PutValue(const Job& job, const Part& part, int peer, std::size_t bytes) {
  if (part.place == Part::kNowhere) return false;
  transport::Outgoing& tx = fabric_->out(part.channel, peer);
  proto::Post& next = NextPost(tx, fabric_->rings());
  std::byte* const out = ClaimOutput(tx.credit->offer, next, job.calls.mark);
  if (out == nullptr) return false;
  const bool written = WriteToPeer(peer, out + part.place, part.value, bytes);
  EndOutput(next);
  if (!written) return false;
  WritePost(tx, fabric_->rings(), job.calls.mark, proto::PostKind::kPlaced,
            reinterpret_cast<std::uint64_t>(out + part.place), bytes);
  return true;
}

}  // namespace tutti::exec::cpu
