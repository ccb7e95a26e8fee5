// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_CPU_ENGINE_H_
#define TUTTI_EXEC_CPU_ENGINE_H_

// Runs plans on host memory, in the caller's thread. Jobs of an engine take place one after the other, in the order of
// Submit. Advance moves the first of them on as far as it goes without waiting for a peer; "where was I" is an index
// into the plan, so any number of engines can be moved on in turn.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exec/cpu/job.h"

namespace tutti {
namespace proto {
struct OnTrial;
struct Post;
}  // namespace proto
namespace trace {
class Recorder;
}
namespace transport {
struct Incoming;
struct Outgoing;
class RemoteLinks;
namespace shm {
class Fabric;
}
}  // namespace transport
}  // namespace tutti

namespace tutti::exec::cpu {

struct BriefOperand;
struct BriefPart;
struct BriefStep;
struct BriefTarget;
struct ChunkRules;
class HugeBuffers;
class Pool;
class StoresByTrial;

inline constexpr int kTransferChannel = 0;                              // of sends and receives
inline constexpr std::size_t kLeastMovedBytes = std::size_t{64} << 10;  // HugeBuffers::kLeastBytes

// A message that has arrived where one of another call was due.
struct Foreign {
  int peer;                // who sent it
  std::uint64_t mark;      // of the call that it belongs to (trace/call.h), as far as `bits` go
  std::uint64_t bits;      // those that the protocol carries
  std::uint64_t expected;  // the whole mark of the call that waits
};

class Engine {
 public:
  // `fabric` may be null for a communicator of one rank; it and `recorder`, which learns of jobs that end, must outlive
  // the engine.
  Engine(transport::shm::Fabric* fabric, trace::Recorder* recorder, int rank, int ranks);
  ~Engine();

  // Prepares a job to run: cuts blocks into chunks. The job must stay where it is until it is done.
  void Submit(Job* job);
  // The same for a job that ran before just so, with the same buffers and to its end. A short collective is moved on at once, and may be done
  // when this returns.
  void SubmitAgain(Job* job);
  bool idle() const { return first_ == nullptr; }

  // Moves the first jobs on. Returns true when the queue is empty.
  bool Advance();

  // Ends every queued job with `status`.
  void Fail(const Status& status);

  // The rank that the first job waits for, or -1, and the sentence that says so.
  int waits_for() const { return first_ == nullptr ? -1 : first_->waits_for; }
  // Whether the first job lacks something from a peer that was last seen waiting on core `cpu`: then only giving that
  // core away can help.
  bool WaitsForPeerOn(int cpu) const;
  std::string DescribeWait() const;
  // Whether nobody but the rank waits_for() can end the first job's wait.
  bool WaitsOnlyForPeer();
  // The job that is being run, or null.
  Job* current() const { return first_; }
  // Looks at what has arrived for the first job, while that waits for data.
  std::optional<Foreign> FindForeign() const;
  // Grows with every step and transfer part that ends: whoever waits sees that something still moves.
  std::uint64_t moves() const { return moves_; }

  // Polls of a flag before Advance gives up on it for the moment. None where ranks share cores.
  void set_spins(int spins) { spins_ = spins; }

  // From now on large buffers that come again and again are moved to huge pages, where the system allows that and a peer reads them by
  // system call.
  void UseHugePages();

  const ChunkRules& chunks() const { return *chunks_; }

 private:
  // What a step works on in one round.
  struct Work {
    std::size_t elements;
    std::size_t bytes;
    std::byte* out;  // null where the step stores nothing
  };

  // A message by Simple that is to be received. With sharing it lands in user memory, and its sender may help to copy.
  struct Message {
    int channel;
    int peer;
    std::uint64_t mark;
    std::size_t bytes;
    std::byte* landing;
    Sharing sharing = Sharing::kNone;
    std::size_t long_bytes_max = kAnyLength;  // PreparedPlan::long_bytes_max
  };
  // Copies that are shared with a sender (shared_copy.h): one at a time per link.
  struct Share {
    bool open = false;
    std::uint64_t index = 0;  // of the post
    std::size_t front = 0;    // bytes that this end has copied
  };

  // What has become of a job that SubmitAgain has tried to run at once. One that has stopped is at the place where it has to wait.
  enum class AtOnce : std::uint8_t { kDone, kStopped, kNotBrief };
  AtOnce RunBrief(Job& job);
  bool IsBrief(const Job& job) const;
  void FindBrief(Job& job);
  void FindBriefPart(const Job& job, const Part& part, BriefPart* brief);
  template <proto::Protocol P>
  bool RunBriefPart(const Job& job, Part& part, const BriefPart& brief);
  template <proto::Protocol P>
  int GatherBrief(const Job& job, Part& part, const BriefStep& step, const BriefOperand* operands);
  template <proto::Protocol P>
  void ComputeBrief(const Job& job, Part& part, const BriefStep& step, const BriefOperand* operands, std::byte* pages);
  template <proto::Protocol P>
  int SendBrief(const Job& job, const Part& part, const BriefStep& step, const BriefTarget* targets, int slot);

  void Start(Job& job);
  static bool Refuse(Job& job);
  void TimeFinished(const Job& job);
  void CutPart(const Job& job, Part& part);
  static void StartPart(Part& part);
  bool Run(Job& job);
  bool CutPool(const Job& job);
  bool RunCollective(Job& job);
  template <proto::Protocol P>
  bool RunPart(Job& job, Part& part);
  Work WorkOf(const Job& job, const Part& part, const plan::Step& step, int round) const;
  template <proto::Protocol P>
  bool RunStep(Job& job, Part& part, const plan::Step& step, int round);
  template <proto::Protocol P>
  bool Gather(Job& job, Part& part, const plan::Step& step, const Work& work, int round);
  bool ReceivePost(Job& job, const Message& message, const std::byte** where);
  void ReleaseLanded(Part& part, const plan::Step& step, int last, std::size_t bytes);
  bool TakePages(Job& job, Part& part, const plan::Step& step, std::size_t bytes);
  template <proto::Protocol P>
  void Compute(Job& job, Part& part, const plan::Step& step, const Work& work);
  template <proto::Protocol P>
  bool Send(Job& job, Part& part, const plan::Step& step, std::size_t bytes);
  void StartTransfers(Job& job);
  bool RunTransfers(Job& job);
  bool RunTransfer(Job& job, int index);
  bool SendPart(Job& job, int peer, const SendBlock& block, std::size_t at, std::size_t bytes);
  std::size_t ReceivePart(Job& job, int index, int peer, const ReceiveBlock& block, std::size_t bytes);
  std::size_t LengthOfNext(Job& job, int index, int peer, const ReceiveBlock& block);
  bool Finish(Job& job);
  void OfferEarly(Job& job);
  bool MayTakeValues(const Job& job) const;
  void OfferOutputs(Job& job);
  void CloseOutputs(Job& job);
  void FindPlace(const Job& job, Part& part, const plan::Step& step, const Work& work, int round);
  void FindPlaceAtRoot(const Job& job, Part& part, const plan::Step& step, const Work& work, int round);
  void EndPlacing(Part& part, const plan::Step& step, std::size_t bytes);
  bool PutValue(const Job& job, const Part& part, int peer, std::size_t bytes);
  std::byte* Reachable(int peer, std::byte* theirs, std::size_t bytes) const;
  bool WriteToPeer(int peer, std::byte* theirs, const std::byte* from, std::size_t bytes);
  Share& ShareOf(int channel, int peer) { return shares_[channel * ranks_ + peer]; }
  static bool IsShared(const Message& message);
  void Offer(const Message& message);
  bool ReceiveShared(Job& job, const Message& message, const proto::Post& post);
  bool Fetch(Job& job, int peer, const proto::Post& post, std::size_t begin, std::byte* to, std::size_t bytes);
  bool Help();
  void Revoke(int channel, int peer);
  void RevokeOffers();
  void AwaitReaders();
  bool ReferencesRead(Job& job);
  void DropReadReferences();
  bool Waits(Job& job, int peer, Job::WaitsFor what, int part = 0) {
    job.waits_for = peer;
    job.waits_what = what;
    job.waiting_part = part;
    return false;
  }
  // Writes what a peer reads next, by `write`, which gets the stores to use.
  template <typename Write>
  void WriteForPeers(int operands, std::size_t bytes, Write write);
  bool HasLargeBuffers(const Job& job) const;
  void UseBuffers(const Job& job);
  bool InPlace(const Job& job) const;
  bool MayRefer(const Job& job) const;
  void PostReference(int channel, int peer, std::uint64_t mark, const std::byte* data, std::size_t bytes,
                     const proto::OnTrial& on_trial);

  std::size_t Offset(const Job& job, const Part& part, bool input, int block, int round, std::size_t* elements) const;
  std::byte* Landing(const Job& job, Part& part, const plan::Step& step, const Work& work, int operand) const;
  static std::byte* Scratch(Part& part, std::size_t operand, std::size_t bytes);

  bool BeginAhead(Job& job);
  void AwaitAhead(const Job& job, Part& part);
  void AwaitPosts(Job& job, int index, int peer, const ReceiveBlock& block, std::size_t chunk);

  // Of the links to other hosts: moves data for a job that waits, and ends what a job that has ended leaves.
  bool TurnRemote(const Job& job);
  void RestRemote();
  // Polls of a flag in a link. Nothing comes over the network while this thread polls memory.
  int SpinsFor(const transport::Incoming& link) const;

  transport::shm::Fabric* fabric_;
  transport::RemoteLinks* remote_ = nullptr;  // of the fabric
  trace::Recorder* const recorder_;
  const int rank_;
  const int ranks_;
  int spins_ = 200;
  std::uint64_t moves_ = 0;
  const std::unique_ptr<ChunkRules> chunks_;
  const std::unique_ptr<Pool> pool_;
  Job* first_ = nullptr;
  Job* last_ = nullptr;

  // Posts that refer to user memory; all that have not been read yet, and some that have. There is room for as many as
  // the links can hold.
  struct Reference {
    transport::Outgoing* link;
    int peer;
    std::uint64_t index;
  };
  std::vector<Reference> references_;
  std::vector<Share> shares_;           // per channel and peer
  bool offers_output_ = false;          // the first job's, to all (OfferOutputs)
  std::vector<std::uint64_t> to_come_;  // per peer: the first post that AwaitAhead has not looked at
  bool can_write_ = true;               // until the system has refused to write to a peer
  // For peers: copies, folds of two operands, folds of more. Since the first of them.
  std::shared_ptr<StoresByTrial[]> writing_;
  std::shared_ptr<HugeBuffers> huge_;  // null: buffers stay where they are
};

// Whether one of them may be for HugeBuffers. Inline: the shortest calls take less than 40 ns.
inline bool Engine::HasLargeBuffers(const Job& job) const {
  if (job.collective != Collective::kSendRecv)
    return job.count * job.element * static_cast<std::size_t>(ranks_) >= kLeastMovedBytes;
  const auto large = [](const auto& block) { return block.bytes >= kLeastMovedBytes; };
  return std::ranges::any_of(job.group.sends, large) || std::ranges::any_of(job.group.receives, large);
}

// What a step works on. Inline for the same reason.
inline Engine::Work Engine::WorkOf(const Job& job, const Part& part, const plan::Step& step, int round) const {
  Work work{0, 0, nullptr};
  if (step.out != plan::kNoBlock) {
    work.out = job.out + Offset(job, part, false, step.out, round, &work.elements);
  } else {
    const auto local = std::ranges::find_if(step.operands, &plan::Operand::local);
    const bool found = local != step.operands.end();
    // A step without a block of its own passes on a whole piece that it does not keep.
    const bool input = !found || local->kind == plan::Operand::Kind::kIn;
    Offset(job, part, input, found ? local->index : 0, round, &work.elements);
  }
  work.bytes = work.elements * job.element;
  return work;
}

}  // namespace tutti::exec::cpu

#endif  // TUTTI_EXEC_CPU_ENGINE_H_
