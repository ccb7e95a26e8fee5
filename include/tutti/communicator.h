// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMMUNICATOR_H_
#define TUTTI_COMMUNICATOR_H_

#include <array>
#include <atomic>
#include <complex>
#include <cstddef>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tutti/export.h"
#include "tutti/operation.h"
#include "tutti/settings.h"
#include "tutti/status.h"
#include "tutti/types.h"

namespace tutti {

namespace comm {
class Origin;
}

// Names a job: the ranks that hold the same id find each other and form one communicator. 128 bytes, as NCCL's;
// carries a random secret, so pass it on only to ranks of the job.
struct TUTTI_EXPORT UniqueId {
  std::array<unsigned char, 128> bytes{};

  // 256 hexadecimal digits, for an environment variable or a command line.
  std::string ToHex() const;
  static Result<UniqueId> FromHex(std::string_view hex);
};
// A fresh id. Any process may make one; give it to all ranks.
TUTTI_EXPORT Result<UniqueId> CreateUniqueId();

// A running operation. Destroying it waits for the operation. Threads: use it on the thread of its communicator.
class TUTTI_EXPORT Request {
 public:
  Request();
  Request(Request&&) noexcept;
  Request& operator=(Request&&) noexcept;
  ~Request();

  // Moves the operation on without waiting. kInProgress until it has ended, then its outcome, again and again.
  Status Test();
  // Waits until the operation has ended; its outcome.
  Status Wait();

 private:
  friend class Communicator;
  struct TUTTI_HIDDEN Impl;
  explicit Request(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The most ranks that a communicator may have.
inline constexpr int kMostRanks = 1 << 16;

// What a communicator is made of.
struct CommunicatorOptions {
  int rank = 0;
  int ranks = 1;
  UniqueId id;
  Settings settings = Settings::FromEnvironment();
  // What the user calls it, for the log and `tutti top`: 63 characters are kept. It may differ between ranks.
  std::string name;
  // The CUDA device whose data the ranks exchange, for the choice of network cards that are close to it; -1: host memory only.
  int gpu = -1;
  // Once it is true, Create gives up within about 50 ms and tells the ranks that are there. Any thread may set it. It must
  // live until Create has returned. Null: never.
  const std::atomic<bool>* cancel = nullptr;
  // Where the ranks come from, where the library makes these options from another communicator. Programs leave it null.
  std::shared_ptr<const comm::Origin> origin;
};

// What holds a communicator up, as far as its process can tell (docs/diagnosis.md).
struct StandingVerdict {
  std::string kind;          // "stopped", "dead", "late host", ...; empty: nothing is known to hold it up
  std::string sentence;      // who or what it is, the evidence, who waits, and what to do
  std::vector<int> exclude;  // ranks that certainly cannot go on: ended, stopped, or on a host that is gone; in order
};

// A group of ranks that call the same collectives in the same order. One object per rank; ranks may be processes or
// threads of one process, in any mix, on one host or several.
//
// Threads: a communicator serves one thread at a time, except Abort, which any thread may call at any time.
// Errors: a failed operation leaves the communicator broken; every later call returns the first error. Peers that
// wait for a broken, aborted, destroyed or dead rank are told within a second, by its rank.
// Reproducible: for the same (ranks, count, type, op) results carry the same bits on every rank and in every run, and
// unless an algorithm is forced the result is the fold of the inputs in rank order, whatever the size; but a reduce of
// device memory by more than two ranks may be folded along a ring or a tree, depending on its size and root.
class TUTTI_EXPORT Communicator {
 public:
  // Meets the other ranks and connects to them. Blocks until all are there or settings.init_timeout_ms have passed.
  static Result<Communicator> Create(const CommunicatorOptions& options);
  // The same with rank, ranks and id taken from the launcher's variables (tutti run, torchrun, mpirun, srun); without
  // a launcher a communicator of one rank.
  static Result<Communicator> FromEnvironment(const Settings& settings = Settings::FromEnvironment());

  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  // Leaves the group. Waits for this rank's unfinished operations, never for longer than peers are alive.
  ~Communicator();

  int rank() const;
  int ranks() const;

  // Runs an operation to its end. For a send or a receive outside a group: returns when its buffer may be used again.
  Status Run(const Operation& operation);
  // Starts an operation. Operations of a communicator take place in the order of their calls. Buffers must stay
  // untouched until the request has ended. Progress is made inside calls on any communicator of this thread.
  Request Start(const Operation& operation);
  // Runs operations as one: sends and receives in the list proceed together, so no order of them can deadlock.
  Status RunGroup(std::span<const Operation> operations);
  Request StartGroup(std::span<const Operation> operations);

  // Breaks the communicator here and tells all peers, which fail their operations within a second. Any thread.
  void Abort(const std::string& reason);

  // What the process's monitor has found lately; nothing without one (TUTTI_MONITOR=0). Where it has broken the communicator, or
  // somebody else has, that stays: `exclude` says who to go on without. Costs a lock. Any thread.
  StandingVerdict WhoHoldsItUp() const;

  // A communicator of the ranks that are not in `excluded`, with the same settings and name; they keep their order. Called by those that stay,
  // all with the same ranks, in any order, also where this communicator is broken: WhoHoldsItUp and the peer of an error say whom to
  // leave out. Blocks until all are there; a rank that is not is named in the error, and one may shrink again, without it. With
  // the same ranks left out again the next is another communicator. Buffers of operations that failed hold anything.
  // Errors: kInvalidArgument for what is no rank, is listed twice, or is this rank; those of Create.
  Result<Communicator> Shrink(std::span<const int> excluded);

  // Collective: `bytes` of zeroed memory that all ranks of this host have mapped. Operations on it need neither a copy into library
  // memory nor a system call, and from 32 KiB on run at the speed of plain copies and folds. While an operation runs, other ranks
  // write to those of its outputs that lie there, as the operation says. Valid until the communicator is destroyed.
  Result<void*> AllocateShared(std::size_t bytes);

  // What would be chosen for an operation: "one_shot LL", for tools and logs.
  std::string Explain(const Operation& operation) const;

  struct TUTTI_HIDDEN Impl;  // defined in src/comm; public so that the library's own tools can look inside
  Impl* impl() const { return impl_.get(); }

 private:
  explicit Communicator(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  // shared with its requests
};

// Runs operations on several communicators as one: none waits for another. The communicators must belong to this
// thread.
struct GroupItem {
  Communicator* communicator;
  Operation operation;
};
TUTTI_EXPORT Status RunGroup(std::span<const GroupItem> items);

// ---------------------------------------------------------------------------------------------------------------
// Factories for typed buffers. Any contiguous range of a C++ arithmetic type will do: vector, array, span.

template <typename T>
struct DataTypeOf;  // specialise for your own 2-byte and 1-byte floating types
template <>
struct DataTypeOf<std::int8_t> {
  static constexpr DataType value = DataType::kInt8;
};
template <>
struct DataTypeOf<std::uint8_t> {
  static constexpr DataType value = DataType::kUint8;
};
template <>
struct DataTypeOf<char> {
  static constexpr DataType value = DataType::kInt8;
};
template <>
struct DataTypeOf<std::byte> {
  static constexpr DataType value = DataType::kUint8;
};
template <>
struct DataTypeOf<std::int32_t> {
  static constexpr DataType value = DataType::kInt32;
};
template <>
struct DataTypeOf<std::uint32_t> {
  static constexpr DataType value = DataType::kUint32;
};
template <>
struct DataTypeOf<std::int64_t> {
  static constexpr DataType value = DataType::kInt64;
};
template <>
struct DataTypeOf<std::uint64_t> {
  static constexpr DataType value = DataType::kUint64;
};
template <>
struct DataTypeOf<std::int16_t> {
  static constexpr DataType value = DataType::kInt16;
};
template <>
struct DataTypeOf<std::uint16_t> {
  static constexpr DataType value = DataType::kUint16;
};
template <>
struct DataTypeOf<bool> {
  static constexpr DataType value = DataType::kBool;
};
template <>
struct DataTypeOf<std::complex<float>> {
  static constexpr DataType value = DataType::kComplex64;
};
template <>
struct DataTypeOf<std::complex<double>> {
  static constexpr DataType value = DataType::kComplex128;
};
template <>
struct DataTypeOf<float> {
  static constexpr DataType value = DataType::kFloat32;
};
template <>
struct DataTypeOf<double> {
  static constexpr DataType value = DataType::kFloat64;
};

namespace internal {
template <typename R>
using ElementOf = std::remove_cv_t<std::ranges::range_value_t<R>>;
template <typename In, typename Out>
Operation Make(Collective kind, const In& in, Out& out, std::size_t count) {
  static_assert(std::is_same_v<ElementOf<In>, ElementOf<Out>>, "input and output hold different element types");
  return {.kind = kind,
          .in = std::ranges::data(in),
          .out = std::ranges::data(out),
          .count = count,
          .type = DataTypeOf<ElementOf<In>>::value};
}
}  // namespace internal

// `in` and `out` of equal length.
template <std::ranges::contiguous_range In, std::ranges::contiguous_range Out>
Operation AllReduce(const In& in, Out&& out, ReduceOp op = ReduceOp::kSum) {
  Operation o = internal::Make(Collective::kAllReduce, in, out, std::ranges::size(in));
  o.op = op;
  return o;
}
// `out` holds ranks() * size(in) elements.
template <std::ranges::contiguous_range In, std::ranges::contiguous_range Out>
Operation AllGather(const In& in, Out&& out) {
  return internal::Make(Collective::kAllGather, in, out, std::ranges::size(in));
}
// `in` holds ranks() * size(out) elements.
template <std::ranges::contiguous_range In, std::ranges::contiguous_range Out>
Operation ReduceScatter(const In& in, Out&& out, ReduceOp op = ReduceOp::kSum) {
  Operation o = internal::Make(Collective::kReduceScatter, in, out, std::ranges::size(out));
  o.op = op;
  return o;
}
// In place: `data` of the root goes to `data` of everybody.
template <std::ranges::contiguous_range Data>
Operation Broadcast(Data&& data, int root) {
  Operation o = internal::Make(Collective::kBroadcast, data, data, std::ranges::size(data));
  o.root = root;
  return o;
}
// `out` is written on the root only.
template <std::ranges::contiguous_range In, std::ranges::contiguous_range Out>
Operation Reduce(const In& in, Out&& out, int root, ReduceOp op = ReduceOp::kSum) {
  Operation o = internal::Make(Collective::kReduce, in, out, std::ranges::size(in));
  o.root = root;
  o.op = op;
  return o;
}
// `out` holds ranks() * size(in) elements on the root; elsewhere it may be empty.
template <std::ranges::contiguous_range In, std::ranges::contiguous_range Out>
Operation Gather(const In& in, Out&& out, int root) {
  Operation o = internal::Make(Collective::kGather, in, out, std::ranges::size(in));
  o.root = root;
  return o;
}
// `in` holds ranks() * size(out) elements on the root; elsewhere it may be empty.
template <std::ranges::contiguous_range In, std::ranges::contiguous_range Out>
Operation Scatter(const In& in, Out&& out, int root) {
  Operation o = internal::Make(Collective::kScatter, in, out, std::ranges::size(out));
  o.root = root;
  return o;
}
// Both hold ranks() equal parts. REQUIRES: the length is a multiple of `ranks`.
template <std::ranges::contiguous_range In, std::ranges::contiguous_range Out>
Operation AllToAll(const In& in, Out&& out, int ranks) {
  return internal::Make(Collective::kAllToAll, in, out, std::ranges::size(in) / ranks);
}
template <std::ranges::contiguous_range In>
Operation Send(const In& in, int peer) {
  return {.kind = Collective::kSend,
          .in = std::ranges::data(in),
          .count = std::ranges::size(in),
          .type = DataTypeOf<internal::ElementOf<In>>::value,
          .root = peer};
}
template <std::ranges::contiguous_range Out>
Operation Recv(Out&& out, int peer) {
  return {.kind = Collective::kRecv,
          .out = std::ranges::data(out),
          .count = std::ranges::size(out),
          .type = DataTypeOf<internal::ElementOf<Out>>::value,
          .root = peer};
}
inline Operation Barrier() { return {.kind = Collective::kBarrier}; }

}  // namespace tutti

#endif  // TUTTI_COMMUNICATOR_H_
