// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0

// The part of Engine in which ranks reach into each other's buffers: reading where a post refers to, copies that sender
// and receiver share, and what a failure must wait for before the caller may free its buffers.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>

#include "base/log.h"
#include "exec/cpu/engine.h"
#include "exec/cpu/fold.h"
#include "exec/cpu/prepared_plan.h"
#include "exec/cpu/shared_copy.h"
#include "exec/cpu/wire.h"
#include "sys/os/clock.h"
#include "sys/os/process.h"
#include "transport/shm/fabric.h"

namespace tutti::exec::cpu {

using plan::Step;
using proto::PostKind;
using transport::Incoming;
using transport::Reach;
using transport::shm::RankState;

namespace {

// How long a failure waits for peers that may be using this rank's buffers; one that does has soon ended or failed too.
constexpr int kMostNaps = 2000;
constexpr std::int64_t kNapNs = 100'000;
constexpr int kNapsPerProbe = 100;

}  // namespace

// Copies what lies `begin` bytes behind the start of what a peer's post refers to. Where that can not be done the job gets the reason
// as its status.
bool Engine::Fetch(Job& job, int peer, const proto::Post& post, std::size_t begin, std::byte* to, std::size_t bytes) {
  if (post.kind == PostKind::kRegion) {
    CopyBytes(to, fabric_->regions().Address(post.region, peer, post.address + begin), bytes, job.stores);
    return true;
  }
  const auto* remote = reinterpret_cast<const std::byte*>(post.address + begin);
  const Incoming& rx = fabric_->in(0, peer);
  if (rx.reach == Reach::kSameProcess) {
    if (fabric_->StateOf(peer) != RankState::kFailed) {
      CopyBytes(to, remote, bytes);
      return true;
    }
    // Its buffer may be gone.
    job.status = Status(Code::kRemote, fmt::format("rank {} failed: {}", peer, fabric_->Describe(peer).reason), peer);
    return false;
  }
  Result<std::size_t> got = sys::ReadProcessMemory(rx.thread, remote, to, bytes);
  // By its own number, so that an error names the process.
  if (!got.ok()) got = sys::ReadProcessMemory(fabric_->process(peer).pid, remote, to, bytes);
  if (got.ok() && *got == bytes) return true;
  job.status = Status(Code::kRemote,
                      fmt::format("rank {} could not read {} bytes of rank {}'s buffer: {}; has it ended or freed "
                                  "the buffer? TUTTI_SINGLE_COPY=off avoids such reads",
                                  rank_, bytes, peer, got.ok() ? "only a part was there" : got.status().message()),
                      peer);
  return false;
}

// Whether the input and the output of a collective overlap.
bool Engine::InPlace(const Job& job) const {
  if (job.in == nullptr || job.out == nullptr) return false;
  const std::size_t in_bytes = plan::InPieces(job.collective, ranks_) * job.count * job.element;
  const std::size_t out_bytes = plan::OutPieces(job.collective, ranks_) * job.count * job.element;
  return std::less<>()(job.in, job.out + out_bytes) && std::less<>()(job.out, job.in + in_bytes);
}

bool Engine::MayRefer(const Job& job) const {
  return job.by_reference && !job.scale_inputs && (job.parts[0].plan->refers_in_place || !InPlace(job));
}

void Engine::PostReference(int channel, int peer, std::uint64_t mark, const std::byte* data, std::size_t bytes,
                           const proto::OnTrial& on_trial) {
  transport::Outgoing& tx = fabric_->out(channel, peer);
  std::uint32_t region = 0;
  std::uint64_t address = reinterpret_cast<std::uint64_t>(data);
  const bool shared = fabric_->regions().Find(data, bytes, &region, &address);
  if (references_.size() == references_.capacity()) DropReadReferences();
  references_.push_back({&tx, peer,
                         WritePost(tx, fabric_->rings(), mark, shared ? PostKind::kRegion : PostKind::kReference,
                                   address, bytes, region, 1, on_trial)});
}

void Engine::DropReadReferences() {
  std::erase_if(references_, [](Reference& r) { return r.link->Consumed(r.index); });
}

bool Engine::ReferencesRead(Job& job) {
  while (!references_.empty()) {
    Reference& r = references_.back();
    if (!r.link->Consumed(r.index)) return Waits(job, r.peer, Job::WaitsFor::kReaders);
    references_.pop_back();
  }
  return true;
}

void Engine::Fail(const Status& status) {
  if (first_ != nullptr) TUTTI_INFO(log::kColl | log::kNet, "rank {} gives up waiting {}", rank_, DescribeWait());
  RevokeOffers();
  AwaitReaders();
  for (Job* job = first_; job != nullptr; job = job->next) {
    job->status = status;
    job->done = true;
  }
  first_ = last_ = nullptr;
  references_.clear();
}

void Engine::Offer(const Message& message) {
  Incoming& rx = fabric_->in(message.channel, message.peer);
  ShareOf(message.channel, message.peer) = {.open = true, .index = rx.post_head};
  OpenOffer(rx.credit->offer, rx.post_head, message.mark, message.landing);
}

// Offers what a job that only receives will receive first, so that senders help while this rank is busy with others.
void Engine::OfferEarly(Job& job) {
  for (int c = 0; c < job.channels; ++c) {
    const Part& part = job.parts[c];
    if (part.done) continue;
    for (int i = 0; i < part.plan->plan.step_count(); ++i) {
      if (part.plan->sharing[i] != Sharing::kEarly) continue;
      const plan::Step step = part.plan->plan.step(i);
      std::size_t elements;
      std::byte* out = job.out + Offset(job, part, false, step.out, 0, &elements);
      const std::size_t bytes = elements * job.element;
      if (bytes >= kLeastSharedBytes) Offer({part.channel, step.operands[0].index, job.calls.mark, bytes, out});
    }
  }
}

// Moves a shared copy on, of the post that was read last. True when all of the message is there, or the job has failed; false while the sender copies.
bool Engine::ReceiveShared(Job& job, const Message& message, const proto::Post& post) {
  Incoming& rx = fabric_->in(message.channel, message.peer);
  --rx.post_head;  // until all of it is there
  Share& share = ShareOf(message.channel, message.peer);
  if (!share.open) Offer(message);
  while (true) {
    const Piece piece = ClaimFront(rx.credit->offer, post, share.index, share.front, message.bytes);
    if (piece.bytes == 0) break;
    if (!Fetch(job, message.peer, post, piece.begin, message.landing + piece.begin, piece.bytes)) {
      Revoke(message.channel, message.peer);
      ++rx.post_head;
      return true;
    }
    share.front += piece.bytes;
    ++moves_;
  }
  if (!AllCopied(post, share.front, message.bytes)) return false;
  share.open = false;
  ++rx.post_head;
  return true;
}

// Where a peer's memory can be written to like this rank's own; null where only the system can.
std::byte* Engine::Reachable(int peer, std::byte* theirs, std::size_t bytes) const {
  if (fabric_->in(0, peer).reach == Reach::kSameProcess) return theirs;
  return fabric_->regions().InPeer(peer, reinterpret_cast<std::uint64_t>(theirs), bytes);
}

// Writes to where a peer lets it. False where the system refuses; it is not asked again then.
bool Engine::WriteToPeer(int peer, std::byte* theirs, const std::byte* from, std::size_t bytes) {
  if (std::byte* const here = Reachable(peer, theirs, bytes); here != nullptr) {
    CopyBytes(here, from, bytes);
    return true;
  }
  can_write_ = can_write_ && sys::WriteProcessMemory(fabric_->in(0, peer).thread, theirs, from, bytes).ok();
  return can_write_;
}

// Copies a piece for the receiver that has most left of what it offers to share. False where there is none.
bool Engine::Help() {
  if (!can_write_) return false;
  DropReadReferences();
  const auto post_of = [&](const Reference& r) -> proto::Post& {
    return r.link->posts[r.index & (fabric_->rings().posts() - 1)];
  };
  const auto found = MostLeft(references_, [&](const Reference& r) -> std::size_t {
    const proto::Post& post = post_of(r);
    return post.bytes < kLeastSharedBytes ? 0 : Unclaimed(r.link->credit->offer, post, r.index);
  });
  if (found == references_.end()) return false;
  const Reference& r = *found;
  proto::Post& post = post_of(r);
  std::byte* landing;
  const Piece piece = ClaimBack(r.link->credit->offer, post, r.index, &landing, EndsOf(references_));
  if (piece.bytes == 0) return false;
  const transport::shm::Regions& regions = fabric_->regions();
  const auto* from = post.kind == PostKind::kRegion ? regions.OwnAddress(post.region, post.address)
                                                    : reinterpret_cast<const std::byte*>(post.address);
  const bool written = WriteToPeer(r.peer, landing + piece.begin, from + piece.begin, piece.bytes);
  EndClaim(post, piece, written ? Outcome::kCopied : Outcome::kFailed);
  fabric_->Nudge(r.peer);
  ++moves_;
  return true;
}

// Ends an offer and waits until nobody writes to its buffer any more.
void Engine::Revoke(int channel, int peer) {
  Share& share = ShareOf(channel, peer);
  if (!share.open) return;
  share.open = false;
  Incoming& rx = fabric_->in(channel, peer);
  RevokeOffer(rx.credit->offer, share.index);
  const std::span posts(rx.posts, fabric_->rings().posts());  // of an output any may be the one that is claimed
  for (int nap = 0; nap < kMostNaps && !std::ranges::all_of(posts, Settled); ++nap) {
    if (nap % kNapsPerProbe == kNapsPerProbe - 1 && !fabric_->WhyGone(peer).empty()) return;
    sys::SleepNs(kNapNs);
  }
}

void Engine::RevokeOffers() {
  if (fabric_ == nullptr) return;
  for (int channel = 0; channel < fabric_->channels(); ++channel) {
    for (int peer = 0; peer < ranks_; ++peer) Revoke(channel, peer);
  }
}

// Ranks of this process read each other's buffers where they lie, and the caller may free its own once it has the error.
void Engine::AwaitReaders() {
  const auto reading = [&](const Reference& r) {
    return fabric_->in(0, r.peer).reach == Reach::kSameProcess && !r.link->Consumed(r.index) &&
           fabric_->StateOf(r.peer) == RankState::kReady;
  };
  for (int nap = 0; nap < kMostNaps && std::ranges::any_of(references_, reading); ++nap) sys::SleepNs(kNapNs);
}

}  // namespace tutti::exec::cpu
