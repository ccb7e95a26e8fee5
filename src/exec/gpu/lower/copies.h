// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_LOWER_COPIES_H_
#define TUTTI_EXEC_GPU_LOWER_COPIES_H_

// Operations that only move bytes, done by the GPUs' copy engines, and the second shot of all_reduces, which does so too: each
// rank writes into the peers' buffers, which lie in windows. No kernel runs, so multiprocessors are free for others, and an
// engine fills a link better than kernels do (392 GB/s against 355 on H200); in return it costs about ten microseconds.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "exec/gpu/launch/side_streams.h"
#include "exec/gpu/lower/compile.h"
#include "sys/cuda/cuda.h"
#include "transport/p2p/copy_words.h"
#include "tutti/communicator.h"
#include "tutti/status.h"

namespace tutti::exec::gpu {

// What one rank has to do. Ranks are bits of a mask.
struct CopyList {
  struct Copy {
    int peer;  // whose output it goes to; may be the rank itself
    const std::byte* from;
    std::size_t offset;  // in the output, bytes
    std::size_t bytes;
  };
  std::array<Copy, transport::p2p::kMostCopyRanks> copies;  // in the order in which they are to run
  int count = 0;
  std::uint32_t writes_to = 0;   // peers whose output this rank writes
  std::uint32_t written_by = 0;  // peers that write this rank's

  std::size_t sent_bytes = 0;  // to peers, by this rank
};

// Whether the output of a scatter is a piece of its input: then it has another place on every rank.
bool ScattersInPlace(const Operation& operation, int rank);
// Bytes of a rank's output, all of which the windows of the ranks that have one must hold.
std::size_t CopiedOutputBytes(const Operation& operation, int ranks);
// A rank's part in an operation by a plan of moves of whole pieces. Ranks write to their peers in an order that lets no two
// write to the same one at a time. REQUIRES: ranks <= kMostCopyRanks.
CopyList ListCopies(const PreparedPlan& plan, const Work& work);

// An all_reduce in two shots: a reduce_scatter, which folds, and an all_gather, which copies can do. Both in the all_reduce's
// buffers; the first one's output is where the second one reads.
struct Shots {
  Operation scatter, gather;
};
// REQUIRES: an all_reduce whose count is a multiple of `ranks`.
Shots ShotsOf(const Operation& all_reduce, int rank, int ranks);

// An operation in which all ranks wait for each other and nothing is copied.
CopyList ListBarrier(int rank, int ranks);

// Enqueues such operations. To be destroyed with the GPU's context as the thread's current one, when nothing is pending.
// Several streams take part: the caller's, and one beside it for what a rank copies to itself.
// Threads: one at a time, but for what is said to be for any thread.
class CopyRunner {
 public:
  struct Options {
    const sys::cuda::Driver* driver = nullptr;
    int rank = 0;
    int ranks = 1;
    transport::p2p::CopyWords* own = nullptr;  // as the host sees them
    // Every rank's, as this rank's GPU and host reach them.
    std::array<sys::cuda::Address, transport::p2p::kMostCopyRanks> words{};
    std::array<const transport::p2p::CopyWords*, transport::p2p::kMostCopyRanks> peers{};
  };
  explicit CopyRunner(const Options& options) : options_(options), sides_(options.driver) {}
  CopyRunner(const CopyRunner&) = delete;
  CopyRunner& operator=(const CopyRunner&) = delete;

  // Where every rank's output begins, as this rank reaches it.
  using Outputs = std::array<std::byte*, transport::p2p::kMostCopyRanks>;
  // Puts an operation into a stream. May be captured; then the captured work may be replayed as often as wanted, one
  // replay at a time. After an error a part of it may be in the stream, so that peers wait for the rest.
  Status Run(const CopyList& list, const Outputs& outputs, sys::cuda::Stream stream, bool captured);

  // Copies into a peer's window, if there is anything to copy, and adds to the signals that the peer counts of this rank.
  // May not be captured: the count would be the same in every replay.
  Status Put(int peer, const void* from, std::byte* to, std::size_t bytes, sys::cuda::Stream stream);
  // Lets a stream wait for `count` more signals of each of these peers than all waits before. May not be captured.
  struct Awaited {
    int peer;
    std::uint32_t count;
  };
  Status AwaitSignals(std::span<const Awaited> awaited, sys::cuda::Stream stream);

  // Whether operations that were put into streams have not ended: of those in graphs, only one that has begun. Any thread.
  bool Pending() const;
  // The communicator is broken: lets streams go that wait for peers, for so long or until nothing is pending; then says
  // so to the peers. Any thread.
  void Release(std::int64_t most_ns);
  // Whether this rank has ended all it had to do after a failure; until then it may write to its peers' buffers. Any
  // thread. `peer`: or the rank itself.
  bool Drained(int peer) const;

  // What an operation has waited for longer than `timeout_ns`: to be asked again and again.
  struct Wait {
    // transport::p2p::kEntering: for `peer` to be ready, or for the own copies; kLeaving: for data from `peer`;
    // kAwaitingSignals: for its signals.
    std::uint32_t stage;
    int peer;
  };
  std::optional<Wait> Overdue(std::int64_t timeout_ns);

 private:
  Status RunBatch(sys::cuda::Stream stream, const char* what);
  void AddStage(std::uint32_t stage, std::uint32_t await);
  void AddExchange(std::size_t word, std::uint32_t tell, std::uint32_t await);
  void AddEnd(bool captured);
  Status Enqueue(const CopyList& list, const Outputs& outputs, sys::cuda::Stream stream, bool captured);
  Status EnqueueBeside(const CopyList& list, const Outputs& outputs, sys::cuda::Stream stream);
  Result<SideStreams::Side> CopyToItself(const CopyList& list, std::byte* output, sys::cuda::Stream stream);
  Status Enter(const CopyList& list, sys::cuda::Stream stream);
  Status Leave(const CopyList& list, sys::cuda::Stream stream, bool captured);
  Status Copy(std::byte* to, const std::byte* from, std::size_t bytes, sys::cuda::Stream stream);
  bool WordSet(std::uint32_t stage, int peer) const;

  const Options options_;
  SideStreams sides_;
  std::vector<sys::cuda::MemoryOperation> operations_;  // of the batch that is being made
  std::atomic<std::uint32_t> issued_{0};                // operations put into streams, but for captured ones
  std::array<std::uint32_t, transport::p2p::kMostCopyRanks> signals_sent_{};  // by peer
  std::array<std::atomic<std::uint32_t>, transport::p2p::kMostCopyRanks> signals_awaited_{};
  std::atomic<std::int64_t> since_ns_{0};  // when Overdue first saw the operation that it sees; 0: none
};

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_LOWER_COPIES_H_
