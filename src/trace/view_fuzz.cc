// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Feeds arbitrary bytes to the reader of black boxes, as another process's memory may hold them. Whatever comes out must
// be in range, and nothing beyond the memory may be read.
//
// Canary: with TUTTI_FUZZ_CANARY set, a planted fault (a send in the first record "crashes") must be found within
// seconds.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "trace/recorder.h"
#include "trace/view.h"

namespace tutti::trace {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void ReadEverything(const View& view, std::uint64_t number) {
  Require(view.rank() >= 0 && view.rank() < view.ranks());
  for (const char c : view.name() + view.failure() + view.gpu().bus_id) Require(c >= ' ' && c <= '~');
  const WaitView wait = view.wait();
  Require(wait.peer >= -1 && wait.peer < view.ranks());
  Require(wait.kind <= WaitKind::kPages);
  for (const std::uint64_t n : {number, view.newest(), view.finished(), std::uint64_t{1}}) {
    const std::optional<CallRecord> record = view.Find(n);
    if (!record) continue;
#ifdef TUTTI_FUZZ_CANARY
    Require(record->call.function() != Collective::kSend);
#endif
    Require(record->number == n && record->call.valid() && !record->call.ToString().empty());
    (void)record->call.signature();
  }
  for (const CollectiveRun& run : view.CollectiveRuns(64))
    Require(run.first.call.valid() && !run.first.call.is_transfer());
  Require(view.waiter().longest_ns >= 0 && view.failure_code() <= Code::kUnsupported);
  (void)view.CallsByFunction();
  (void)view.FindCollective(number);
  (void)view.LastCollective(number);
  for (int channel = 0; channel < view.channels(); ++channel) {
    for (const FlowView& flow : view.link(channel, view.ranks() - 1).flows) {
      Require(flow.completed <= flow.posted && flow.stuck_ns >= 0);
      for (const char c : flow.card) Require(c >= ' ' && c <= '~');
    }
  }
}

}  // namespace
}  // namespace tutti::trace

// The first 4 bytes choose ranks, channels, how much of the rest is header, and whether the number of the first record, which
// its end repeats, stays; the rest is laid over a good black box.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tutti::trace;
  if (size < 4) return 0;
  const int ranks = data[0] % 5 + 1, channels = data[1] % 3 + 1;
  const std::size_t bytes = BoxBytes(ranks, channels);
  const std::unique_ptr<std::byte, decltype(&std::free)> memory(
      static_cast<std::byte*>(std::aligned_alloc(4096, bytes)), &std::free);
  std::memset(memory.get(), 0, bytes);
  Recorder(memory.get(), {.rank = data[0] % ranks, .ranks = ranks, .channels = channels})
      .Add(PackCall({.kind = tutti::Collective::kAllReduce}), 1, 1, 0);
  const std::uint8_t* rest = data + 4;
  size -= 4;
  const std::size_t in_header = data[2] % 2 == 0 ? 0 : std::min(size, sizeof(BoxHeader) - 16);
  std::memcpy(memory.get() + 16, rest, in_header);
  const std::size_t records = kRecordsOffset + (data[2] / 2 % 2 == 0 ? 0 : sizeof(Record::number));
  const std::size_t in_records = std::min(size - in_header, bytes - records);
  std::memcpy(memory.get() + records, rest + in_header, in_records);
  const tutti::Result<View> view = View::Open(memory.get(), bytes);
  if (view.ok()) ReadEverything(*view, data[3] | static_cast<std::uint64_t>(in_records) << 8);
  return 0;
}
