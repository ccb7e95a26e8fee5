// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The part of Engine that runs a job: a collective, channel by channel and step by step, or a group of sends and receives.
#include <fmt/format.h>

#include <algorithm>

#include "exec/cpu/chunks.h"
#include "exec/cpu/engine.h"
#include "exec/cpu/fold.h"
#include "exec/cpu/pool.h"
#include "exec/cpu/prepared_plan.h"
#include "exec/cpu/stores_by_trial.h"
#include "exec/cpu/wire.h"
#include "proto/simple.h"
#include "sys/os/clock.h"
#include "transport/shm/fabric.h"

namespace tutti::exec::cpu {

using plan::Operand;
using plan::Step;
using proto::PostKind;
using proto::Protocol;

namespace {

constexpr std::size_t kSlotsPerPeer = 2;
constexpr int kKindsOfWriting = 3;
// A plan's messages take turns in so many times the pages that it needs at least. A writer need not wait for a late reader then, and
// writes pages that have left the reader's closest cache meanwhile. On an EPYC with near cores an all_reduce of 512 KiB takes 53 us
// with 1, 33 with 2 or 4, a broadcast of 2 MiB 160, 112 and 69.
constexpr std::size_t kWindows = 4;

// Whether a step's value lies in user memory, where receivers may read it.
bool StaysInPlace(const Step& step) {
  return step.out != plan::kNoBlock || (step.operands.size() == 1 && step.operands[0].local());
}

}  // namespace

inline int Engine::SpinsFor(const transport::Incoming& link) const {
  return link.reach == transport::Reach::kOtherHost ? 0 : spins_;
}

// Gets the pool ready for a job's messages, where it may need pages. False while there are readers in the way.
bool Engine::CutPool(const Job& job) {
  return job.protocol != Protocol::kSimple || fabric_ == nullptr || !ChunkRules::MayTakePages(job.chunk_bytes) ||
         pool_->Cut(job.chunk_bytes, job.parts[0].plan->footprint.window * kWindows, job.channels);
}

// Moves every channel on as far as it goes.
bool Engine::RunCollective(Job& job) {
  if (!CutPool(job)) return Waits(job, -1, Job::WaitsFor::kPages);
  bool all_done = true;
  for (int c = 0; c < job.channels; ++c) {
    Part& part = job.parts[c];
    if (part.done) continue;
    switch (job.protocol) {
      case Protocol::kLl:
        part.done = RunPart<Protocol::kLl>(job, part);
        break;
      case Protocol::kLl128:
        part.done = RunPart<Protocol::kLl128>(job, part);
        break;
      case Protocol::kSimple:
        part.done = RunPart<Protocol::kSimple>(job, part);
        break;
    }
    all_done &= part.done;
  }
  return all_done;
}

template <Protocol P>
bool Engine::RunPart(Job& job, Part& part) {
  const plan::RankPlan& plan = part.plan->plan;
  const int steps = plan.step_count();
  // A single round comes to each step in the time slot of its stage: once, in the order of the stages.
  const bool once = part.rounds == 1;
  const int slots = once ? 1 : part.rounds + part.plan->max_stage;
  if (job.found.awaits) AwaitAhead(job, part);
  for (; part.slot < slots; ++part.slot) {
    for (; part.turn < steps; ++part.turn) {
      part.step = once ? part.plan->by_stage[part.turn] : part.turn;
      const Step step = plan.step(part.step);
      const int round = once ? 0 : part.slot - step.stage;
      if (round < 0 || round >= part.rounds) continue;
      if (!RunStep<P>(job, part, step, round)) return false;
      ++moves_;
      part.operand = 0;
      part.progress = 0;
      part.computed = false;
      part.sent = 0;
    }
    part.turn = 0;
  }
  return true;
}

std::byte* Engine::Scratch(Part& part, std::size_t operand, std::size_t bytes) {
  return reinterpret_cast<std::byte*>(part.scratch.data()) + operand * LinesOf(bytes) * sizeof(CacheLine);
}

// Byte offset of chunk `round` of a block in its buffer, and its length in elements.
std::size_t Engine::Offset(const Job& job, const Part& part, bool input, int block, int round,
                           std::size_t* elements) const {
  const int per_piece = input ? part.plan->in_blocks_per_piece : part.plan->out_blocks_per_piece;
  const plan::BlockCut& cut = input ? part.in_cut : part.out_cut;
  std::size_t piece = block;
  int sub = 0;
  if (per_piece != 1) {
    piece = block / per_piece;
    sub = block % per_piece;
  }
  const std::size_t begin = cut.Begin(sub) + round * part.chunk;
  const std::size_t end = cut.End(sub);
  *elements = begin < end ? std::min(part.chunk, end - begin) : 0;
  return (piece * job.count + part.first + begin) * job.element;
}

template <Protocol P>
bool Engine::RunStep(Job& job, Part& part, const Step& step, int round) {
  const Work work = WorkOf(job, part, step, round);
  if (work.elements == 0) return true;
  if (!part.computed) {
    if (!Gather<P>(job, part, step, work, round)) return false;
    if (P == Protocol::kSimple && job.by_reference) FindPlace(job, part, step, work, round);
    if (P == Protocol::kSimple && !step.to.empty() && part.at_root == nullptr) {
      if (!TakePages(job, part, step, work.bytes)) return false;
    }
    Compute<P>(job, part, step, work);
    if (part.at_root != nullptr) EndPlacing(part, step, work.bytes);
    part.computed = true;
  }
  for (; part.sent < step.to.size(); ++part.sent) {
    if (!Send<P>(job, part, step, work.bytes)) return false;
  }
  if (part.pool_slot >= 0) {
    pool_->Release(part.pool_slot);
    PrefetchForWrite(pool_->Next(work.bytes, part.channel));
    part.pool_slot = -1;
  }
  return true;
}

// Gives posts of the peer of operand `last` back before the step is computed, where all that has come from it was copied: what they refer to
// is the peer's again, which may be all that it waits for to end its call.
void Engine::ReleaseLanded(Part& part, const Step& step, int last, std::size_t bytes) {
  const int peer = step.operands[last].index;
  for (int i = 0; i < last; ++i) {
    const Operand& operand = step.operands[i];
    if (!operand.local() && operand.index == peer && part.operands[i] != Scratch(part, i, bytes)) return;
  }
  ReleasePosts(fabric_->in(part.channel, peer));
  fabric_->Nudge(peer);
}

// Finds shared pages for a value that is to be sent, unless it can be referred to where it lies.
bool Engine::TakePages(Job& job, Part& part, const Step& step, std::size_t bytes) {
  if (MayRefer(job) && StaysInPlace(step)) return true;
  part.pool_slot = pool_->Take(bytes, part.channel);
  return part.pool_slot >= 0 || Waits(job, step.to[0], Job::WaitsFor::kPages, part.channel);
}

template <typename Write>
void Engine::WriteForPeers(int operands, std::size_t bytes, Write write) {
  if (bytes < proto::kLeastStreamedBytes) return write(Stores::kCached);
  if (writing_ == nullptr) writing_ = std::make_shared<StoresByTrial[]>(kKindsOfWriting);
  StoresByTrial& known = writing_[std::min(operands, kKindsOfWriting) - 1];
  const std::int64_t begin_ns = sys::NowNs();
  const Stores stores = known.Pick(begin_ns);
  write(stores);
  known.Note(stores, bytes, begin_ns, sys::NowNs());
}

// Folds or moves the operands to where the step wants its value, and gives the received ones back.
template <Protocol P>
void Engine::Compute(Job& job, Part& part, const Step& step, const Work& work) {
  const int operand_count = static_cast<int>(step.operands.size());
  std::byte* pages = part.pool_slot >= 0 ? pool_->Data(part.pool_slot) : nullptr;
  // Peers read the output itself.
  const bool refers = P == Protocol::kSimple && pages == nullptr && part.place == Part::kNowhere && !step.to.empty();
  part.value = static_cast<const std::byte*>(part.operands[0]);
  if (operand_count > 1) {
    std::byte* target = work.out;
    if (target == nullptr) target = part.at_root_here;
    if (target == nullptr) target = pages != nullptr ? pages : Scratch(part, operand_count, work.bytes);
    const auto fold = [&](Stores stores) {
      job.fold(target, part.operands.data(), operand_count, work.elements, stores);
    };
    if (target == pages || refers) {
      WriteForPeers(operand_count, work.bytes, fold);
    } else {
      fold((target == work.out && step.to.empty()) || target == part.at_root_here ? job.stores : Stores::kCached);
    }
    part.value = target;
  } else if (work.out != nullptr) {
    const auto copy = [&](Stores stores) { CopyBytes(work.out, part.value, work.bytes, stores); };
    if (refers && part.value != work.out) {
      WriteForPeers(1, work.bytes, copy);
    } else {
      copy(job.stores);
    }
    part.value = work.out;
  }
  if (pages != nullptr && part.value != pages) {
    WriteForPeers(1, work.bytes, [&](Stores stores) { CopyBytes(pages, part.value, work.bytes, stores); });
    part.value = pages;
  }
  if (pages != nullptr && job.mutual()) Demote({pages, work.bytes});
  if constexpr (P == Protocol::kSimple) {
    for (const Operand& operand : step.operands) {
      if (operand.local()) continue;
      ReleasePosts(fabric_->in(part.channel, operand.index));
      fabric_->Nudge(operand.index);
    }
  }
}

template <Protocol P>
bool Engine::Send(Job& job, Part& part, const Step& step, std::size_t bytes) {
  const int peer = step.to[part.sent];
  const transport::RingSizes& rings = fabric_->rings();
  transport::Outgoing& tx = fabric_->out(part.channel, peer);
  const int slots = part.plan->footprint.link_slots;
  if constexpr (P == Protocol::kLl) {
    if (!RoomLl(tx, rings, bytes, slots)) return Waits(job, peer, Job::WaitsFor::kRoom, part.channel);
    WriteLl(tx, rings, job.calls.mark, part.value, bytes, job.mutual());
  } else if constexpr (P == Protocol::kLl128) {
    if (!RoomLl128(tx, rings, bytes, slots)) return Waits(job, peer, Job::WaitsFor::kRoom, part.channel);
    WriteLl128(tx, rings, job.calls.mark, part.value, bytes, job.mutual());
  } else {
    if (!RoomPost(tx, rings)) return Waits(job, peer, Job::WaitsFor::kRoom, part.channel);
    if (part.at_root != nullptr) {
      WritePost(tx, rings, job.calls.mark, PostKind::kPlaced, reinterpret_cast<std::uint64_t>(part.at_root), bytes);
    } else if (part.pool_slot < 0) {
      if (!PutValue(job, part, peer, bytes)) PostReference(part.channel, peer, job.calls.mark, part.value, bytes, {});
    } else {
      const std::uint64_t offset = pool_->Offset(part.pool_slot);
      pool_->AddReader(part.pool_slot, &tx,
                       WritePost(tx, rings, job.calls.mark, PostKind::kPool, offset, bytes, 0,
                                 static_cast<std::uint32_t>(step.to.size())));
    }
    if (job.mutual()) DemotePost(tx, rings);
  }
  fabric_->Nudge(peer);
  return true;
}

// Where an operand of a step comes to lie if it is copied: at once where the step's value will be, if that pays and nothing else is needed
// there, else in scratch memory of its own.
std::byte* Engine::Landing(const Job& job, Part& part, const Step& step, const Work& work, int operand) const {
  const int count = static_cast<int>(step.operands.size());
  const bool in_place = count > 1 && job.by_reference && part.plan->folds_in_place[part.step] == operand;
  if (work.out == nullptr) {
    // A value that the system has refused to write may still lie there, and none is written after it.
    return Scratch(part, in_place && part.plan->puts[part.step] && can_write_ ? count : operand, work.bytes);
  }
  const bool there = count == 1 || (in_place && job.stores == Stores::kCached && !InPlace(job));
  return there ? work.out : Scratch(part, operand, work.bytes);
}

// Finds or receives the operands of a step, in order.
template <Protocol P>
bool Engine::Gather(Job& job, Part& part, const Step& step, const Work& work, int round) {
  const int count = static_cast<int>(step.operands.size());
  for (; part.operand < count; ++part.operand) {
    const int i = part.operand;
    const Operand& operand = step.operands[i];
    std::byte* const landing = Landing(job, part, step, work, i);
    if (operand.local()) {
      std::size_t elements;
      const bool input = operand.kind == Operand::Kind::kIn;
      const std::size_t offset = Offset(job, part, input, operand.index, round, &elements);
      part.operands[i] = input ? job.in + offset : job.out + offset;
      if (input && job.scale_inputs) {
        Scale(landing, part.operands[i], work.elements, job.type, job.scale);
        part.operands[i] = landing;
      }
      continue;
    }
    transport::Incoming& rx = fabric_->in(part.channel, operand.index);
    bool arrived;
    const std::byte* where = landing;
    if constexpr (P == Protocol::kLl) {
      arrived = ReadLl(rx, fabric_->rings(), job.calls.mark, landing, work.bytes, part.progress, SpinsFor(rx));
    } else if constexpr (P == Protocol::kLl128) {
      arrived = ReadLl128(rx, fabric_->rings(), job.calls.mark, landing, work.bytes, part.progress, SpinsFor(rx));
    } else {
      const Sharing sharing = job.by_reference ? part.plan->sharing[part.step] : Sharing::kNone;
      arrived = ReceivePost(
          job, {part.channel, operand.index, job.calls.mark, work.bytes, landing, sharing, part.plan->long_bytes_max},
          &where);
    }
    if (!arrived) return Waits(job, operand.index, Job::WaitsFor::kData, part.channel);
    part.operands[i] = where;
    part.progress = 0;
    if constexpr (P == Protocol::kSimple) {
      if (where == landing && count > 1 && rx.reach == transport::Reach::kSystemCall)
        ReleaseLanded(part, step, i, work.bytes);
    }
  }
  return true;
}

bool Engine::IsShared(const Message& message) {
  return message.sharing != Sharing::kNone && message.bytes >= proto::kLeastSharedBytes;
}

// Takes the next post of a peer: leaves its data where it is if it can be used there, else lands it.
bool Engine::ReceivePost(Job& job, const Message& message, const std::byte** where) {
  const int peer = message.peer;
  transport::Incoming& rx = fabric_->in(message.channel, peer);
  const proto::Post* post = ReadPost(rx, fabric_->rings(), message.mark, SpinsFor(rx));
  if (post == nullptr) return false;
  *where = message.landing;
  switch (post->kind) {
    case PostKind::kPool:
      *where = rx.PoolData(post->address, message.bytes, post->readers == 1 ? message.long_bytes_max : 0);
      break;
    case PostKind::kPlaced:
      *where = reinterpret_cast<const std::byte*>(post->address);
      break;
    case PostKind::kRegion:
      if (IsShared(message)) return ReceiveShared(job, message, *post);
      *where = fabric_->regions().Address(post->region, peer, post->address);
      break;
    case PostKind::kReference: {
      if (IsShared(message)) return ReceiveShared(job, message, *post);
      const bool here = rx.reach == transport::Reach::kSameProcess;
      if (here && fabric_->StateOf(peer) != transport::shm::RankState::kFailed) [[likely]] {
        *where = reinterpret_cast<const std::byte*>(post->address);
      } else {
        Fetch(job, peer, *post, 0, message.landing, message.bytes);
      }
      break;
    }
  }
  if (message.sharing != Sharing::kNone) ShareOf(message.channel, peer).open = false;  // nobody will come to help
  return true;
}

void Engine::StartTransfers(Job& job) {
  job.group.left = job.group.plan->plan.step_count();
  job.group.steps.assign(job.group.left, {});
  job.group.refused = false;
}

bool Engine::RunTransfers(Job& job) {
  TransferGroup& group = job.group;
  const int steps = group.plan->plan.step_count();
  const std::vector<int>& previous = group.plan->previous;
  bool moved = true;
  while (moved && group.left > 0) {
    moved = false;
    for (int i = 0; i < steps; ++i) {
      TransferGroup::Progress& step = group.steps[i];
      if (step.done || (previous[i] >= 0 && !group.steps[previous[i]].done)) continue;
      const std::size_t before = step.moved;
      step.done = RunTransfer(job, i);
      if (group.refused) [[unlikely]]
        return true;
      group.left -= step.done ? 1 : 0;
      moved |= step.done || step.moved != before;
    }
  }
  return group.left == 0;
}

// Moves one send, receive or self-copy on by as many parts as go without waiting. True when it has ended.
bool Engine::RunTransfer(Job& job, int index) {
  TransferGroup& group = job.group;
  const Step step = group.plan->plan.step(index);
  const Operand& source = step.operands[0];
  const bool sends = !step.to.empty();
  if (source.local() && !sends) {
    CopyBytes(group.receives[step.out].address, group.sends[source.index].address, group.sends[source.index].bytes);
    return true;
  }
  const std::size_t bytes = sends ? group.sends[source.index].bytes : group.receives[step.out].bytes;
  const Lane& lane = sends ? group.sends[source.index].lane : group.receives[step.out].lane;
  const std::size_t chunk = chunks_->ForTransfer(lane.protocol, lane.by_reference);
  std::size_t& moved = group.steps[index].moved;
  if (!sends && remote_ != nullptr && lane.protocol == Protocol::kSimple)
    AwaitPosts(job, index, source.index, group.receives[step.out], chunk);
  while (moved < bytes) {
    std::size_t part = std::min(chunk, bytes - moved);
    if (sends) {
      if (!SendPart(job, step.to[0], group.sends[source.index], moved, part)) return false;
    } else {
      part = ReceivePart(job, index, source.index, group.receives[step.out], part);
      if (part == 0) return false;
    }
    moved += part;
    ++moves_;
  }
  return true;
}

// Sends [at, at + bytes) of a block, if there is room.
bool Engine::SendPart(Job& job, int peer, const SendBlock& block, std::size_t at, std::size_t bytes) {
  const std::byte* data = block.address + at;
  const transport::RingSizes& rings = fabric_->rings();
  transport::Outgoing& tx = fabric_->out(kTransferChannel, peer);
  switch (block.lane.protocol) {
    case Protocol::kLl:
      if (!RoomLl(tx, rings, bytes, 2)) return Waits(job, peer, Job::WaitsFor::kRoom);
      WriteLl(tx, rings, block.mark, data, bytes, job.mutual());
      break;
    case Protocol::kLl128:
      if (!RoomLl128(tx, rings, bytes, 2)) return Waits(job, peer, Job::WaitsFor::kRoom);
      WriteLl128(tx, rings, block.mark, data, bytes, job.mutual());
      break;
    case Protocol::kSimple:
      if (!RoomPost(tx, rings)) return Waits(job, peer, Job::WaitsFor::kRoom);
      const bool says = block.lane.trial != 0 && at == 0;
      const proto::OnTrial on_trial =
          says ? proto::OnTrial{.trial = block.lane.trial, .began_ns = job.group.began_ns} : proto::OnTrial{};
      if (block.lane.by_reference) {
        PostReference(kTransferChannel, peer, block.mark, data, bytes, on_trial);
        if (job.mutual()) DemotePost(tx, rings);
        break;
      }
      if (!pool_->Cut(chunks_->ForTransfer(Protocol::kSimple, false), kSlotsPerPeer * kWindows, ranks_ - 1))
        return Waits(job, peer, Job::WaitsFor::kPages);
      const std::size_t group = peer < rank_ ? peer : peer - 1;
      const int slot = pool_->Take(bytes, group);
      if (slot < 0) return Waits(job, peer, Job::WaitsFor::kPages);
      WriteForPeers(1, bytes, [&](Stores stores) { CopyBytes(pool_->Data(slot), data, bytes, stores); });
      if (job.mutual()) Demote({pool_->Data(slot), bytes});
      pool_->AddReader(slot, &tx,
                       WritePost(tx, rings, block.mark, PostKind::kPool, pool_->Offset(slot), bytes, 0, 1, on_trial));
      if (job.mutual()) DemotePost(tx, rings);
      pool_->Release(slot);
      PrefetchForWrite(pool_->Next(bytes, group));
      break;
  }
  fabric_->Nudge(peer);
  return true;
}

// How long the next message of a receive by Simple is, within one host: its sender has chosen how it comes and in what parts. 0: none
// is there yet, or one that does not fit, which ends the job.
std::size_t Engine::LengthOfNext(Job& job, int index, int peer, const ReceiveBlock& block) {
  const transport::Incoming& rx = fabric_->in(kTransferChannel, peer);
  const proto::Post* post = LookAtPost(rx, fabric_->rings(), block.mark, SpinsFor(rx));
  if (post == nullptr) return 0;
  const std::size_t moved = job.group.steps[index].moved, left = block.bytes - moved;
  if (post->bytes == 0 || post->bytes > left) [[unlikely]] {
    job.status = Status(
        Code::kInvalidUsage,
        fmt::format("rank {} sent {} bytes at once where rank {} has {} to receive, the rest of {}: a send and the "
                    "receive that it meets must be of the same size",
                    peer, post->bytes, rank_, left, block.bytes),
        peer);
    job.group.refused = true;
    return 0;
  }
  if (block.lane.tried && moved == 0) job.calls.watcher->Arrives(job, index, *post);
  return post->bytes;
}

// Receives the next part of a block once it has arrived: `bytes` of them, or as many as its post says. Returns how many; 0: not yet.
std::size_t Engine::ReceivePart(Job& job, int index, int peer, const ReceiveBlock& block, std::size_t bytes) {
  TransferGroup::Progress& step = job.group.steps[index];
  std::byte* out = block.address + step.moved;
  const transport::RingSizes& rings = fabric_->rings();
  transport::Incoming& rx = fabric_->in(kTransferChannel, peer);
  bool arrived = false;
  switch (block.lane.protocol) {
    case Protocol::kLl:
      arrived = ReadLl(rx, rings, block.mark, out, bytes, step.arrived, SpinsFor(rx));
      break;
    case Protocol::kLl128:
      arrived = ReadLl128(rx, rings, block.mark, out, bytes, step.arrived, SpinsFor(rx));
      break;
    case Protocol::kSimple: {
      if (remote_ == nullptr) bytes = LengthOfNext(job, index, peer, block);
      if (bytes == 0) break;
      const std::byte* where = out;
      arrived =
          ReceivePost(job, {kTransferChannel, peer, block.mark, bytes, out, job.group.plan->sharing[index]}, &where);
      if (!arrived) break;
      CopyBytes(out, where, bytes);
      ReleasePosts(rx);
      break;
    }
  }
  if (!arrived) {
    Waits(job, peer, Job::WaitsFor::kData);
    return 0;
  }
  step.arrived = 0;
  fabric_->Nudge(peer);
  return bytes;
}

}  // namespace tutti::exec::cpu
