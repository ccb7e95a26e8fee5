// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_CAPI_NVTX_H_
#define TUTTI_CAPI_NVTX_H_

// Marks for tools that read NVTX, as Nsight Systems does (docs/diagnosis.md):
//
//   domain "NCCL"    a range for each call that NCCL 2.28.9 marks, named and described as there
//   domain "Tutti"   a range for each time that a thread waits in a call
//
// Whether a tool listens is found out once, at the first call of a process. Where none does, a call costs one branch.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tutti::capi::nvtx {

// A call that is marked. Up to kCommRevoke the values are the numbers of NCCL's payload schemas.
enum class Call : std::uint8_t {
  kCommInitRank,
  kCommInitAll,
  kCommDestroy,
  kCommAbort,
  kAllGather,
  kAllReduce,
  kBroadcast,
  kReduceScatter,
  kReduce,
  kSend,
  kRecv,
  kCommInitRankConfig,
  kCommInitRankScalable,
  kCommSplit,
  kCommFinalize,
  kCommShrink,
  kAlltoAll,
  kGather,
  kScatter,
  kCommRevoke,
  // Without a payload.
  kGroupStart,
  kGroupEnd,
  kGroupSimulateEnd,
  kMemAlloc,
  kMemFree,
  kCommCount,
  kCommCuDevice,
  kCommUserRank,
};
inline constexpr int kCallsWithPayload = 20, kCalls = 28;

// The payloads, laid out as NCCL's.
struct OfComm {  // InitRank and its kin, Destroy, Abort, Revoke
  std::uint64_t comm = 0;
  int ranks = 0, rank = 0, device = 0;
};
struct OfInitAll {
  std::uint64_t comm;
  int devices;
};
struct OfSplit {
  std::uint64_t made, parent;
  int ranks, rank, device, color, key;
};
struct OfShrink {
  std::uint64_t made;
  int ranks, rank, device, excluded;
};
struct OfFinalize {
  std::uint64_t comm;
};
struct OfMove {  // AllGather, AlltoAll
  std::uint64_t comm;
  std::size_t bytes;  // count times the size of an element
};
struct OfMoveWith {  // the third value: operator, root or peer
  std::uint64_t comm;
  std::size_t bytes;
  int third;
};
struct OfReduce {
  std::uint64_t comm;
  std::size_t bytes;
  int root, op;
};
inline constexpr std::size_t kMostPayloadBytes = sizeof(OfSplit);

enum State : std::uint8_t { kUnknown, kOff, kOn };
extern std::atomic<std::uint8_t> g_state;
// Finds out whether a tool listens, and NCCL_NVTX_DISABLE is not set.
bool Ask();
inline bool On() {
  const std::uint8_t state = g_state.load(std::memory_order_relaxed);
  if (state == kOff) [[likely]]
    return false;
  return state == kOn || Ask();
}

// Whether this build has NVTX's headers; without them nothing is marked.
bool Built();

// The range of a call, for as long as it lives. Nothing unless On().
class Range {
 public:
  explicit Range(Call call) : Range(call, nullptr, 0) {}
  template <typename Payload>
  Range(Call call, const Payload& payload) : Range(call, &payload, sizeof(payload)) {
    static_assert(sizeof(payload) <= kMostPayloadBytes);
  }
  ~Range() {
    if (pushed_) [[unlikely]]
      Pop();
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

  // A payload that is known only now; it comes with the range's end.
  template <typename Payload>
  void Add(const Payload& payload) {
    static_assert(sizeof(payload) <= kMostPayloadBytes);
    if (pushed_) Keep(&payload, sizeof(payload));
  }
  bool pushed() const { return pushed_; }

 private:
  Range(Call call, const void* payload, std::size_t bytes) : call_(call) {
    if (On()) [[unlikely]]
      Push(payload, bytes);
  }
  void Push(const void* payload, std::size_t bytes);
  void Keep(const void* payload, std::size_t bytes);
  void Pop();

  const Call call_;
  bool pushed_ = false;
  std::uint8_t kept_bytes_ = 0;
  alignas(8) unsigned char kept_[kMostPayloadBytes];
};

// A wait of this thread, in the domain "Tutti".
class Waiting {
 public:
  // `what`: "for operations"; lives until the process ends.
  explicit Waiting(const char* what) {
    if (On()) [[unlikely]]
      Push(what);
  }
  ~Waiting() {
    if (pushed_) [[unlikely]]
      Pop();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  void Push(const char* what);
  static void Pop();

  bool pushed_ = false;
};

}  // namespace tutti::capi::nvtx

#endif  // TUTTI_CAPI_NVTX_H_
