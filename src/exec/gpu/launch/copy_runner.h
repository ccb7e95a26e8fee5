// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXEC_GPU_LAUNCH_COPY_RUNNER_H_
#define TUTTI_EXEC_GPU_LAUNCH_COPY_RUNNER_H_

// Copies between GPUs by their copy engines. No kernel runs, so multiprocessors are free for others, and an engine fills a link
// better than kernels do (392 GB/s against 355 on H200); in return it costs about ten microseconds.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "exec/gpu/launch/side_streams.h"
#include "exec/gpu/lower/copies.h"
#include "sys/cuda/cuda.h"
#include "transport/p2p/copy_words.h"
#include "tutti/status.h"

namespace tutti::exec::gpu {

// A list of copies (exec/gpu/lower/copies.h), ready to be started.
struct CopyLaunch {
  CopyList list;
  CopyOutputs outputs{};
  int way = 0;  // Failures::WayOf: what is said where it waits in vain
};

// Puts copies into streams. To be destroyed with the GPU's context as the thread's current one, when nothing is pending.
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

  // What is to be started next; it stays until the next one comes. outputs, way: as of CopyLaunch.
  const CopyLaunch& Keep(const CopyList& list, std::span<std::byte* const> outputs, int way);
  // Puts an operation into a stream. May be captured; then the captured work may be replayed as often as wanted, one
  // replay at a time. After an error a part of it may be in the stream, so that peers wait for the rest.
  Status Start(const CopyLaunch& launch, sys::cuda::Stream stream, bool captured);

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
  std::optional<CopyWait> Overdue(std::int64_t timeout_ns);

 private:
  Status RunBatch(sys::cuda::Stream stream, const char* what);
  void AddStage(std::uint32_t stage, std::uint32_t await, int way);
  void AddExchange(std::size_t word, std::uint32_t tell, std::uint32_t await);
  void AddEnd(bool captured);
  Status Enqueue(const CopyLaunch& launch, sys::cuda::Stream stream, bool captured);
  Status EnqueueBeside(const CopyLaunch& launch, sys::cuda::Stream stream);
  Result<SideStreams::Side> CopyToItself(const CopyList& list, std::byte* output, sys::cuda::Stream stream);
  Status Enter(const CopyLaunch& launch, sys::cuda::Stream stream);
  Status Leave(const CopyLaunch& launch, sys::cuda::Stream stream, bool captured);
  Status Copy(std::byte* to, const std::byte* from, std::size_t bytes, sys::cuda::Stream stream);
  bool WordSet(std::uint32_t stage, int peer) const;

  const Options options_;
  SideStreams sides_;
  CopyLaunch kept_;
  std::vector<sys::cuda::MemoryOperation> operations_;  // of the batch that is being made
  std::atomic<std::uint32_t> issued_{0};                // operations put into streams, but for captured ones
  std::array<std::uint32_t, transport::p2p::kMostCopyRanks> signals_sent_{};  // by peer
  std::array<std::atomic<std::uint32_t>, transport::p2p::kMostCopyRanks> signals_awaited_{};
  std::atomic<std::int64_t> since_ns_{0};  // when Overdue first saw the operation that it sees; 0: none
};

}  // namespace tutti::exec::gpu

#endif  // TUTTI_EXEC_GPU_LAUNCH_COPY_RUNNER_H_
