// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/host/comparer.h"

#include <fmt/format.h>

#include <algorithm>

#include "comm/host/core.h"
#include "comm/host/ledger.h"
#include "exec/cpu/engine.h"
#include "trace/view.h"
#include "transport/shm/fabric.h"

namespace tutti::comm {
namespace {

using exec::cpu::Job;
using trace::Call;
using trace::CallRecord;
using trace::WaitKind;
using trace::WaitView;

// A peer that says that it waits has seen all that this rank did before it stood still, if it said so this much later.
constexpr std::int64_t kSettleNs = 20000000;

constexpr const char* kRemedy = "all ranks must make the same calls in the same order";

// "all_reduce(count 4, int8, sum) as its operation 7". `own`: the collectives that the library has called itself.
std::string Quote(const CallRecord& record, std::uint64_t own) {
  const char* place = record.call.function() == Collective::kSend   ? "send to that rank"
                      : record.call.function() == Collective::kRecv ? "receive from that rank"
                                                                    : "operation";
  return fmt::format("{} as its {} {}", record.call.ToString(), place,
                     record.call.is_transfer() ? record.sequence : record.sequence - own);
}

Status Mismatch(std::uint64_t own, int culprit, const CallRecord& theirs, int other, const CallRecord& others) {
  return Status(
      Code::kInvalidUsage,
      fmt::format("the calls of the ranks do not match: rank {} called {} where rank {} called {}; {}", culprit,
                  Quote(theirs, own), other,
                  theirs.call.is_transfer() || others.call.is_transfer() ? Quote(others, own) : others.call.ToString(),
                  kRemedy),
      culprit);
}

bool DifferInBytes(const Call& mine, const Call& theirs) { return mine.bytes() != theirs.bytes(); }

// Also where the same bytes are taken for something else. Signed or not is a question of taste.
bool DifferInMeaning(const Call& mine, const Call& theirs) {
  if (DifferInBytes(mine, theirs)) return true;
  const auto same = [&](DataType one, DataType other) {
    return (mine.type() == one && theirs.type() == other) || (mine.type() == other && theirs.type() == one);
  };
  return mine.type() != theirs.type() && !same(DataType::kInt8, DataType::kUint8) &&
         !same(DataType::kInt32, DataType::kUint32) && !same(DataType::kInt64, DataType::kUint64);
}

}  // namespace

// All ranks that have got as far as collective number `sequence` must have made the same call there. What most have called
// is quoted against the lowest rank that called something else.
Status Comparer::CompareCollectives(std::uint64_t sequence) {
  std::vector<std::pair<int, CallRecord>> calls;
  for (int r = 0; r < core_.ranks; ++r) {
    if (const std::optional<CallRecord> record = core_.boxes[r].FindCollective(sequence))
      calls.emplace_back(r, *record);
  }
  struct Kind {
    const std::pair<int, CallRecord>* first;
    int count;
  };
  std::vector<Kind> kinds;  // of calls that are alike; one, as a rule
  for (const auto& call : calls) {
    const auto same =
        std::ranges::find_if(kinds, [&](const Kind& k) { return k.first->second.call == call.second.call; });
    if (same == kinds.end()) {
      kinds.push_back({.first = &call, .count = 1});
    } else {
      ++same->count;
    }
  }
  if (kinds.size() < 2) return Status::Ok();
  const auto usual = std::ranges::max_element(kinds, {}, &Kind::count);  // the first of equals
  const auto odd = usual == kinds.begin() ? usual + 1 : kinds.begin();
  return Mismatch(ledger_.own_collectives(), odd->first->first, odd->first->second, usual->first->first,
                  usual->first->second);
}

// The n-th send from one rank to another and the n-th receive there must agree in bytes.
Status Comparer::CompareTransfers(const Job& job) {
  std::vector<CallRecord> own;
  for (std::uint64_t n = job.calls.first(); n <= job.calls.last; ++n) {
    if (const std::optional<CallRecord> record = core_.boxes[core_.rank].Find(n)) own.push_back(*record);
  }
  return CompareTransfers(std::move(own), &DifferInBytes);
}

Status Comparer::CompareTransfers(std::vector<CallRecord> own, Differ differ) {
  std::ranges::sort(own, {}, [](const CallRecord& r) { return r.call.root(); });
  for (std::size_t begin = 0; begin < own.size();) {
    const int peer = own[begin].call.root();
    std::size_t end = begin;
    while (end < own.size() && own[end].call.root() == peer) ++end;
    const std::span<const CallRecord> with_peer(own.data() + begin, end - begin);
    begin = end;
    if (peer == core_.rank) continue;
    const CallRecord* mine = nullptr;
    const std::optional<CallRecord> theirs = core_.boxes[peer].FindLatest([&](const CallRecord& r) {
      if (!r.call.is_transfer() || r.call.root() != core_.rank) return false;
      const auto met = std::ranges::find_if(with_peer, [&](const CallRecord& m) {
        return m.call.function() != r.call.function() && m.sequence == r.sequence && differ(m.call, r.call);
      });
      if (met != with_peer.end()) mine = &*met;
      return mine != nullptr;
    });
    if (theirs) return Mismatch(ledger_.own_collectives(), peer, *theirs, core_.rank, *mine);
  }
  return Status::Ok();
}

// The first of the collectives that both have written down, and still have, in which this rank and a peer differ.
Status Comparer::CompareHistory(int peer) {
  const std::optional<CallRecord> mine = core_.boxes[core_.rank].LastCollective(),
                                  theirs = core_.boxes[peer].LastCollective();
  if (!mine || !theirs) return Status::Ok();
  std::vector<std::pair<std::uint64_t, Call>> calls;
  (void)core_.boxes[core_.rank].FindLatest([&](const CallRecord& r) {
    if (!r.call.is_transfer()) calls.emplace_back(r.sequence, r.call);
    return false;
  });
  std::uint64_t first = 0;
  (void)core_.boxes[peer].FindLatest([&](const CallRecord& r) {
    if (r.call.is_transfer()) return false;
    const auto same = std::ranges::find(calls, r.sequence, [](const auto& c) { return c.first; });
    if (same != calls.end() && same->second != r.call) first = r.sequence;
    return false;
  });
  return first == 0 ? Status::Ok() : CompareCollectives(first);
}

Status Comparer::CompareGpuCalls() {
  if (core_.boxes.empty()) return Status::Ok();
  for (int peer = 0; peer < core_.ranks; ++peer) {
    if (peer != core_.rank) TUTTI_RETURN_IF_ERROR(CompareHistory(peer));
  }
  std::vector<CallRecord> transfers;
  (void)core_.boxes[core_.rank].FindLatest([&](const CallRecord& r) {
    if (r.call.is_transfer()) transfers.push_back(r);
    return false;
  });
  return CompareTransfers(std::move(transfers), &DifferInBytes);
}

Status Comparer::CompareAtEnd() {
  if (core_.boxes.empty() || !core_.recorder.on() || core_.broken.load(std::memory_order_acquire)) return Status::Ok();
  for (int peer = 0; peer < core_.ranks; ++peer) {
    if (peer == core_.rank || core_.fabric->StateOf(peer) != transport::shm::RankState::kLeft) continue;
    const transport::PeerState theirs = core_.fabric->Describe(peer);
    if (theirs.collectives != ledger_.collectives() || theirs.mark == ledger_.mark_of_all()) continue;
    TUTTI_RETURN_IF_ERROR(CompareHistory(peer));
    return Status(
        Code::kInvalidUsage,
        fmt::format("the calls of the ranks do not match: ranks {} and {} called different collectives, longer "
                    "ago than is written down; {}",
                    peer, core_.rank, kRemedy),
        peer);
  }
  constexpr std::size_t kMostTransfers = 64;
  std::vector<CallRecord> own;
  if (ledger_.transfers() > 0) {
    (void)core_.boxes[core_.rank].FindLatest([&](const CallRecord& r) {
      if (r.call.is_transfer()) own.push_back(r);
      return own.size() == kMostTransfers;
    });
  }
  return CompareTransfers(std::move(own), &DifferInMeaning);
}

// A message of another call lies where one of the current call is due: which call is it?
Status Comparer::ExplainForeign(const Job& job, const exec::cpu::Foreign& foreign) {
  TUTTI_RETURN_IF_ERROR(CompareHistory(foreign.peer));
  const auto mark_of = [](const CallRecord& r) { return trace::TransferMark(r.call.bytes(), r.sequence); };
  std::optional<CallRecord> mine = core_.boxes[core_.rank].Find(job.calls.last);
  if (mine && mine->call.is_transfer()) {
    mine = core_.boxes[core_.rank].FindLatest([&](const CallRecord& r) {
      return r.call.function() == Collective::kRecv && r.call.root() == foreign.peer && mark_of(r) == foreign.expected;
    });
  }
  std::optional<CallRecord> theirs = core_.boxes[foreign.peer].FindLatest([&](const CallRecord& r) {
    return r.call.function() == Collective::kSend && r.call.root() == core_.rank &&
           (mark_of(r) & foreign.bits) == foreign.mark;
  });
  // Not a send, so it is a collective, which this rank has not called yet.
  if (!theirs) {
    const std::optional<CallRecord> last = core_.boxes[core_.rank].LastCollective(job.calls.first());
    theirs = core_.boxes[foreign.peer].FindCollective(last ? last->sequence + 1 : 1);
  }
  if (mine && theirs) return Mismatch(ledger_.own_collectives(), foreign.peer, *theirs, core_.rank, *mine);
  return Status(Code::kInvalidUsage,
                fmt::format("the calls of the ranks do not match: rank {} sent data of another call than {}, in which "
                            "rank {} waits for it; {}",
                            foreign.peer, mine ? mine->call.ToString() : "the one", core_.rank, kRemedy),
                foreign.peer);
}

// This rank and a peer wait for each other, one in a collective and the other in a send or receive: neither can go on.
Status Comparer::FindStandoff(const Job& job, std::int64_t since_ns) {
  const int peer = job.waits_for;
  if (!core_.engine->WaitsOnlyForPeer()) return Status::Ok();
  const WaitView wait = core_.boxes[peer].wait();
  if (wait.kind == WaitKind::kNothing || wait.kind == WaitKind::kPages || wait.on_gpu || wait.peer != core_.rank)
    return Status::Ok();
  if (wait.looked_ns < since_ns + kSettleNs) return Status::Ok();
  // The call that concerns the other rank, of one or of a group of sends and receives.
  const auto find = [&](int owner, int other, std::uint64_t last) {
    const std::optional<CallRecord> record = core_.boxes[owner].Find(last);
    if (!record || !record->call.is_transfer()) return record;
    return core_.boxes[owner].FindLatest(
        [&](const CallRecord& r) { return r.number <= last && r.call.is_transfer() && r.call.root() == other; });
  };
  const std::optional<CallRecord> mine = find(core_.rank, peer, job.calls.last),
                                  theirs = find(peer, core_.rank, wait.number);
  if (!mine || !theirs || mine->call.is_transfer() == theirs->call.is_transfer()) return Status::Ok();
  // The send or receive may have been met already, by one of another size.
  const bool transfer_is_mine = mine->call.is_transfer();
  const CallRecord& transfer = transfer_is_mine ? *mine : *theirs;
  const std::optional<CallRecord> met =
      core_.boxes[transfer_is_mine ? peer : core_.rank].FindLatest([&](const CallRecord& r) {
        return r.call.is_transfer() && r.call.function() != transfer.call.function() &&
               r.sequence == transfer.sequence && r.call.root() == (transfer_is_mine ? core_.rank : peer);
      });
  if (met && met->call.bytes() == transfer.call.bytes()) return Status::Ok();
  if (met)
    return transfer_is_mine ? Mismatch(ledger_.own_collectives(), peer, *met, core_.rank, *mine)
                            : Mismatch(ledger_.own_collectives(), peer, *theirs, core_.rank, *met);
  return Mismatch(ledger_.own_collectives(), peer, *theirs, core_.rank, *mine);
}

Status Comparer::CompareCalls(std::int64_t since_ns) {
  const Job* job = core_.engine->current();
  if (job == nullptr || core_.boxes.empty() || !core_.recorder.on()) return Status::Ok();
  const std::optional<exec::cpu::Foreign> foreign = core_.engine->FindForeign();
  if (!foreign && since_ns == 0) return Status::Ok();
  if (job->collective == Collective::kSendRecv) {
    TUTTI_RETURN_IF_ERROR(CompareTransfers(*job));
  } else if (const std::optional<CallRecord> mine = core_.boxes[core_.rank].Find(job->calls.last)) {
    // A rank that is behind may be so because of an earlier call: its latest is compared too.
    std::uint64_t earliest = mine->sequence;
    for (const trace::View& box : core_.boxes) {
      const std::optional<CallRecord> latest = box.LastCollective();
      if (latest) earliest = std::min(earliest, latest->sequence);
    }
    TUTTI_RETURN_IF_ERROR(CompareCollectives(earliest));
    TUTTI_RETURN_IF_ERROR(CompareCollectives(mine->sequence));
  }
  if (foreign) return ExplainForeign(*job, *foreign);
  return FindStandoff(*job, since_ns);
}

std::uint64_t Comparer::CallsOfAll() const {
  std::uint64_t calls = 0;
  for (const trace::View& box : core_.boxes) calls += box.newest();
  return calls;
}

}  // namespace tutti::comm
