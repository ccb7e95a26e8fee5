// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "diag/docket.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "diag/whole.h"

namespace tutti::diag {
namespace {

// Of the time between the looks, from which on a process counts as kept from the cores: its group, and its main thread alone, which
// other programs may rightly share a core with.
constexpr double kThrottled = 0.5, kQueued = 0.9;
// Bytes: a program that goes on without its collectives, as one that keeps a log, writes less.
constexpr double kWritingPerNs = 1e6 / kSecond;

constexpr std::array<std::string_view, 12> kWriting = {"write",     "writev",          "pwrite64",  "pwritev",
                                                       "sendfile",  "copy_file_range", "fallocate", "fsync",
                                                       "fdatasync", "sync_file_range", "ftruncate", "close"};
constexpr std::array<std::string_view, 4> kReading = {"read", "readv", "pread64", "preadv"};
constexpr std::array<std::string_view, 12> kCompilers = {"nvcc",    "cicc",  "ptxas",   "nvlink", "gcc",   "g++",
                                                         "cc1plus", "clang", "clang++", "ld",     "ninja", "fatbinary"};

template <std::size_t N>
bool IsOneOf(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// A file in a file system, rather than a device, a pipe or what the kernel tells of itself.
bool IsFile(std::string_view object) {
  return object.starts_with('/') && !object.starts_with("/dev/") && !object.starts_with("/proc/") &&
         !object.starts_with("/sys/") && !object.starts_with("/memfd:");
}

}  // namespace

std::string ExcuseOf(const ProcessLook& process, const ProcessLook* before, std::int64_t apart_ns) {
  for (const ThreadLook& thread : process.threads) {
    if (!IsFile(thread.object)) continue;
    if (IsOneOf(kWriting, thread.system_call)) return "writes " + thread.object;
    if (IsOneOf(kReading, thread.system_call)) return "reads " + thread.object;
  }
  // Who saves something is at work on it between its writes, and asleep for a moment when it is looked at.
  if (before != nullptr && before->written_bytes >= 0 &&
      static_cast<double>(process.written_bytes - before->written_bytes) >
          kWritingPerNs * static_cast<double>(apart_ns))
    return "writes files, more than 1 MB/s";
  const auto compiler = std::ranges::find_if(process.children, [](const auto& c) { return IsOneOf(kCompilers, c); });
  return compiler == process.children.end() ? "" : fmt::format("compiles ({})", *compiler);
}

trace::Call Mirror(const trace::Call& call, int rank) {
  const Collective other = call.function() == Collective::kSend ? Collective::kRecv : Collective::kSend;
  return {.word = trace::PackCall({.kind = other, .type = call.type(), .root = rank}), .count = call.count};
}

int Docket::Open(const std::string& key, Kind kind) {
  const auto [found, is_new] = by_key_.try_emplace(key, static_cast<int>(verdicts_.size()));
  if (is_new) verdicts_.push_back({.kind = kind});
  return found->second;
}

void Docket::Accuse(int verdict, const Node& node) {
  Verdict& v = (*this)[verdict];
  const Place place = PlaceOf(node);
  const auto same = [&](const Place& p) {
    return p == place ||
           (p.pid == place.pid && p.pid != 0 && p.host == place.host && p.communicator != place.communicator);
  };
  if (std::ranges::any_of(v.culprits, same)) return;
  v.culprits.push_back(place);
  v.ranks = Whole(node).ranks;
  const Seen& seen = standings_.Of(node.communicator, node.rank);
  if (!v.process && seen.process != nullptr) v.process = *seen.process;
}

void Docket::Show(int verdict, const std::string& evidence) {
  std::vector<std::string>& all = (*this)[verdict].evidence;
  if (std::ranges::find(all, evidence) == all.end()) all.push_back(evidence);
}

Place Docket::PlaceOf(const Node& node) const {
  const CommunicatorLook& c = Whole(node);
  Place place{.communicator = c.id, .communicator_name = c.name, .rank = node.rank};
  const Seen& seen = standings_.Of(node.communicator, node.rank);
  if (const RankLook* in_whole = InWhole(node)) {
    place.gpu = in_whole->gpu;
  } else if (seen.now != nullptr) {
    place.gpu = seen.now->gpu;
  }
  if (seen.process != nullptr) {
    place.host = seen.process->host;
    place.pid = seen.process->pid;
  }
  return place;
}

CallOf Docket::RunningCall(const Node& node) const {
  const RankLook* rank = standings_.Of(node.communicator, node.rank).now;
  CallOf call{.who = PlaceOf(node)};
  if (rank == nullptr) return call;
  if (At(node.communicator).whole != 0 && rank->for_whole) {
    const trace::WholeCall& in_whole = *rank->for_whole;
    call.call = in_whole.in_graph ? trace::Call{.word = ~trace::CallWord{0}} : in_whole.call;
    call.sequence = call.call.is_transfer() ? in_whole.sequence : Whole(node).NumberOf(in_whole.sequence);
    return call;
  }
  call.call = rank->running.call;
  const bool transfer = call.call.valid() && call.call.is_transfer();
  call.sequence = transfer ? rank->running.sequence : At(node.communicator).NumberOf(rank->running.sequence);
  return call;
}

const CommunicatorLook& Docket::Whole(const Node& node) const { return WholeOf(now_, At(node.communicator)); }

const RankLook* Docket::InWhole(const Node& node) const {
  return At(node.communicator).whole == 0 ? nullptr : Whole(node).Find(node.rank);
}

const trace::WholeCall* Docket::WaitsInWhole(const Node& waits) const {
  const RankLook* rank = standings_.Of(waits.communicator, waits.rank).now;
  const bool known = rank != nullptr && At(waits.communicator).whole != 0 && rank->for_whole;
  return known ? &*rank->for_whole : nullptr;
}

// Where the one that waits has not written down in which call that is: the collective that the other has not called, or of those that all
// have called the last.
std::optional<CallOf> Docket::CallOwedInWhole(const Node& node, const Node& waits) const {
  const RankLook *owes = InWhole(node), *waiting = InWhole(waits);
  if (owes == nullptr || waiting == nullptr || !owes->knows_collectives || waiting->sequence == 0) return std::nullopt;
  const std::uint64_t sequence = std::min(owes->sequence + 1, waiting->sequence);
  const trace::Call* call = waiting->CollectiveAt(sequence);
  if (call == nullptr) return std::nullopt;
  return CallOf{.who = PlaceOf(node), .call = *call, .sequence = Whole(node).NumberOf(sequence)};
}

bool Docket::HasCalledInWhole(const Node& node, const Node& waits) const {
  const RankLook *owes = InWhole(node), *waiting = InWhole(waits);
  if (owes == nullptr || waiting == nullptr) return false;
  const trace::WholeCall* in = WaitsInWhole(waits);
  if (in != nullptr && in->in_graph) return false;  // replays are not counted
  const trace::Call call = RunningCall(waits).call;
  if (call.valid() && call.is_transfer()) {
    const RankLook::Transfers theirs = owes->TransfersWith(waits.rank), own = waiting->TransfersWith(node.rank);
    const bool sends = call.function() == Collective::kSend;
    return (sends ? theirs.receives : theirs.sends) >= (in != nullptr ? in->sequence
                                                        : sends       ? own.sends
                                                                      : own.receives);
  }
  const std::uint64_t sequence = in != nullptr ? in->sequence : waiting->sequence;
  return owes->knows_collectives && sequence > 0 && owes->sequence >= sequence;
}

CallOf Docket::CallOwed(const Node& node, const Node& waits) const {
  CallOf call = RunningCall(waits);
  if (WaitsInWhole(waits) == nullptr && (!call.call.valid() || !call.call.is_transfer())) {
    if (const std::optional<CallOf> in_whole = CallOwedInWhole(node, waits)) return *in_whole;
  }
  if (call.call.valid() && call.call.is_transfer()) call.call = Mirror(call.call, waits.rank);
  call.who = PlaceOf(node);
  return call;
}

int Docket::Held(const Node& node, Standing standing) {
  const Seen& seen = standings_.Of(node.communicator, node.rank);
  const std::string who = fmt::format("{}|{}", seen.process->host, seen.process->pid);
  if (standing == Standing::kHostSilent) {
    const int gone = Open("host|" + seen.process->host, Kind::kHostGone);
    for (const RankLook& rank : now_.communicators[static_cast<std::size_t>(node.communicator)].seen) {
      const Node other{node.communicator, rank.rank};
      const Seen& theirs = standings_.Of(other.communicator, other.rank);
      if (theirs.standing == standing && theirs.process->host == seen.process->host) Accuse(gone, other);
    }
    const auto host = std::ranges::find(now_.hosts, seen.process->host, &HostLook::name);
    (*this)[gone].held_ns = host->silent_ns;
    (*this)[gone].confidence = Confidence::kLikely;
    return gone;
  }
  const Kind kind = standing == Standing::kGone      ? Kind::kDead
                    : standing == Standing::kStopped ? Kind::kStopped
                                                     : Kind::kTraced;
  const int held = Open(fmt::format("{}|{}", Name(kind), who), kind);
  Accuse(held, node);
  Show(held, fmt::format("the system shows process {} as {}", seen.process->pid, Name(seen.process->state)));
  return held;
}

namespace {

// At the look before, which was so long ago; where that had nothing of the process, when its host last told of it.
CoreTimes Earlier(const Seen& seen, std::int64_t apart_ns) {
  const ProcessLook* before = seen.process_before;
  if (before != nullptr && (before->queue_ns >= 0 || before->throttled_ns >= 0)) {
    return {.before_ns = apart_ns,
            .queue_ns = before->queue_ns,
            .throttled_ns = before->throttled_ns,
            .group_run_ns = before->group_run_ns};
  }
  return seen.process->earlier.value_or(CoreTimes{});
}

}  // namespace

std::string Docket::Starves(const Seen& seen) const {
  if (seen.process == nullptr) return "";
  const ProcessLook& now = *seen.process;
  const CoreTimes before = Earlier(seen, now_.taken_ns - before_.taken_ns);
  if (before.before_ns <= 0) return "";
  const auto apart_ns = static_cast<double>(before.before_ns);
  const auto part = [&](std::int64_t then, std::int64_t later) {
    return then < 0 || later < then ? 0.0 : static_cast<double>(later - then) / apart_ns;
  };
  const double waited = part(before.queue_ns, now.queue_ns);
  if (const double lost = part(before.throttled_ns, now.throttled_ns); lost >= kThrottled) {
    // The system adds up over the cores, so what was lost is held against what the group has had of them; where that is not known, the
    // main thread tells.
    const bool known = before.group_run_ns >= 0 && now.group_run_ns >= before.group_run_ns;
    const double off = known ? lost / (lost + part(before.group_run_ns, now.group_run_ns)) : std::min(waited, 1.0);
    if (off >= kThrottled) {
      return fmt::format(
          "its control group was kept off the cores for {:.0f} % of the time that it wanted, in the last {:.1f} s",
          100 * off, apart_ns * 1e-9);
    }
  }
  if (const double off = waited; off >= kQueued) {
    return fmt::format("its main thread was ready and had no core for {:.0f} % of the last {:.1f} s", 100 * off,
                       apart_ns * 1e-9);
  }
  return "";
}

int Docket::LateInStream(const Node& node, const CallOf& call) {
  const int late = Open(fmt::format("gpu late|{:x}|{}", Whole(node).id, node.rank), Kind::kGpuLate);
  Accuse(late, node);
  if ((*this)[late].calls.empty()) (*this)[late].calls.push_back(call);
  return late;
}

int Docket::Late(const Node& node, const Node& waits, Owes owes) {
  const Seen& seen = standings_.Of(node.communicator, node.rank);
  const std::string starves = Starves(seen);
  if (owes == Owes::kTheCall && starves.empty() && HasCalledInWhole(node, waits))
    return LateInStream(node, CallOwed(node, waits));
  const Kind kind = starves.empty() ? Kind::kLateHost : Kind::kStarved;
  const int late = Open(fmt::format("late|{:x}|{}", Whole(node).id, node.rank), kind);
  Accuse(late, node);
  Verdict& v = (*this)[late];
  v.called = owes == Owes::kToGoOn;
  const WaitLook& wait = standings_.Of(waits.communicator, waits.rank).now->wait;
  const trace::WholeCall* in_whole = WaitsInWhole(waits);
  v.in_graph = in_whole != nullptr ? in_whole->in_graph : wait.on_gpu && wait.number == 0;
  const CallOf call = owes == Owes::kToGoOn ? RunningCall(node) : CallOwed(node, waits);
  if (v.calls.empty()) v.calls.push_back(call);
  if (!starves.empty()) {
    Show(late, starves);
  } else if (v.process) {
    v.excuse = ExcuseOf(*v.process, seen.process_before, now_.taken_ns - before_.taken_ns);
  }
  const bool is_part = InWhole(node) != nullptr;
  if (!is_part && owes == Owes::kTheCall && seen.now->records_calls && seen.now->knows_collectives &&
      call.call.valid() && !call.call.is_transfer()) {
    Show(late, fmt::format("rank {} has called {} collectives, rank {} waits in number {}", node.rank,
                           At(node.communicator).NumberOf(seen.now->sequence), waits.rank, call.sequence));
  }
  return late;
}

void NameCards(const CommunicatorLook& c, LinkPlace& link) {
  if (const EdgeFacts* facts = c.FactsOf(link.from.rank, link.to.rank)) {
    link.nic_from = facts->nic_from;
    link.nic_to = facts->nic_to;
    return;
  }
  const auto card = [&](const Place& own, const Place& other) {
    const RankLook* rank = c.Find(own.rank);
    const FlowLook* flow = rank == nullptr ? nullptr : rank->FlowTo(other.rank);
    return flow == nullptr ? "" : flow->card;
  };
  link.nic_from = card(link.from, link.to);
  link.nic_to = card(link.to, link.from);
}

}  // namespace tutti::diag
