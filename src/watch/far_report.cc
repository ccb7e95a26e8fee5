// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/far_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/bytes.h"
#include "base/words.h"

namespace tutti::watch {
namespace {

constexpr std::uint8_t kForm = 6;
constexpr std::size_t kMostText = 512;        // bytes of a sentence or a name
constexpr std::size_t kMostThreads = 8;       // of a process
constexpr std::size_t kMostChildren = 8;      // likewise
constexpr std::size_t kMostHistory = 8;       // runs of calls of a rank
constexpr std::size_t kMostGpus = 16;         // of a process
constexpr std::size_t kMostXids = 8;          // of a GPU
constexpr std::size_t kMostNvLinks = 64;      // likewise
constexpr std::size_t kMostItems = 1u << 16;  // of any other list

// The archives below write and read the same fields in the same order: Fields() names them once for both.
class Writer {
 public:
  static constexpr bool kReads = false;

  template <typename T>
  requires std::integral<T> || std::is_enum_v<T>
  void Field(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      Number(static_cast<std::uint64_t>(value));
    } else if constexpr (std::is_signed_v<T>) {
      const auto wide = static_cast<std::int64_t>(value);
      Number(static_cast<std::uint64_t>(wide) << 1 ^
             static_cast<std::uint64_t>(wide >> 63));  // small negative: few bytes
    } else {
      Number(value);
    }
  }
  void Field(const std::string& text) {
    const std::size_t bytes = std::min(text.size(), kMostText);
    Number(bytes);
    out_.Bytes(std::as_bytes(std::span(text).first(bytes)));
  }
  template <typename T>
  void Field(const std::optional<T>& value) {
    Field(value.has_value());
    if (value) Field(*value);
  }
  template <typename T, std::size_t kSize>
  void Field(const std::array<T, kSize>& values) {
    for (const T& value : values) Field(value);
  }
  // Of a list the first `most`.
  template <typename T, typename Each>
  void List(const std::vector<T>& list, std::size_t most, const Each& each) {
    const std::size_t size = std::min(list.size(), most);
    Number(size);
    for (std::size_t i = 0; i < size; ++i) each(list[i]);
  }
  std::vector<std::byte> Take() { return out_.Take(); }

 private:
  void Number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_.Number(static_cast<std::uint8_t>(value | 0x80));
    out_.Number(static_cast<std::uint8_t>(value));
  }

  ByteWriter out_;
};

class Reader {
 public:
  static constexpr bool kReads = true;

  explicit Reader(std::span<const std::byte> message) : in_(message) {}

  template <typename T>
  requires std::integral<T> || std::is_enum_v<T>
  void Field(T& value) {
    const std::uint64_t number = Number();
    if constexpr (std::is_same_v<T, bool>) {
      in_.Require(number <= 1);
      value = number == 1;
    } else if constexpr (std::is_signed_v<T> && std::integral<T>) {
      const auto wide = static_cast<std::int64_t>(number >> 1 ^ (0 - (number & 1)));
      value = static_cast<T>(wide);
      in_.Require(value == wide);
    } else {
      value = static_cast<T>(number);
      in_.Require(static_cast<std::uint64_t>(value) == number);
    }
  }
  void Field(std::string& text) {
    const std::uint64_t bytes = Number();
    in_.Require(bytes <= kMostText);
    const std::span<const std::byte> chars = in_.Bytes(bytes);
    text.assign(reinterpret_cast<const char*>(chars.data()), chars.size());
  }
  template <typename T>
  void Field(std::optional<T>& value) {
    bool has = false;
    Field(has);
    if (has) Field(value.emplace());
  }
  template <typename T, std::size_t kSize>
  void Field(std::array<T, kSize>& values) {
    for (T& value : values) Field(value);
  }
  template <typename T, typename Each>
  void List(std::vector<T>& list, std::size_t most, const Each& each) {
    const std::uint64_t size = Number();
    in_.Require(size <= most);
    for (std::uint64_t i = 0; i < size && in_.good(); ++i) each(list.emplace_back());
  }
  void Require(bool condition) { in_.Require(condition); }
  bool AtEnd() const { return in_.AtEnd(); }

 private:
  std::uint64_t Number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = in_.Number<std::uint8_t>();
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      // The tenth byte has one bit of the number.
      in_.Require(shift < 63 || byte <= 1);
      if ((byte & 0x80) == 0) return value;
    }
    in_.Require(false);
    return 0;
  }

  ByteReader in_;
};

// "0000:3b:00.0" as a number that takes four bytes, from 1 on; 0: none.
std::uint64_t NumberOfBusId(std::string_view text) {
  constexpr std::array<int, 4> kBits = {32, 8, 5, 3};
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < kBits.size(); ++i) {
    const std::size_t end = std::min(text.find(i == 2 ? '.' : ':'), text.size());
    const auto part = ParseNumber<std::uint64_t>(text.substr(0, end), 16);
    if (!part || *part >> kBits[i] != 0) return 0;
    number = number << kBits[i] | *part;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return text.empty() ? number + 1 : 0;
}

std::string BusIdOf(std::uint64_t number) {
  if (number == 0) return "";
  --number;
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", number >> 16, number >> 8 & 0xff, number >> 3 & 0x1f, number & 7);
}

template <typename Archive, typename Text>
void BusIdField(Archive& a, Text& text) {
  std::uint64_t number = Archive::kReads ? 0 : NumberOfBusId(text);
  a.Field(number);
  if constexpr (Archive::kReads) {
    a.Require(number <= std::uint64_t{1} << 48);
    text = BusIdOf(number);
  }
}

// Of one that goes on it is one byte.
template <typename Archive, typename Ending>
void EndingFields(Archive& a, Ending& e) {
  bool any = !(e == diag::EndingLook());
  a.Field(any);
  if (!any) return;
  a.Field(e.out_of_memory);
  a.Field(e.of_group);
  a.Field(e.group);
  a.Field(e.limit_bytes);
  a.Field(e.resident_bytes);
  a.Field(e.group_kills);
  a.Field(e.crash);
}

template <typename Archive, typename Gpu>
void GpuFields(Archive& a, Gpu& g) {
  BusIdField(a, g.bus_id);
  a.List(g.xids, kMostXids, [&](auto& xid) {
    a.Field(xid.number);
    a.Field(xid.at_ns);
  });
  a.Field(g.silent_ns);
  a.Field(g.lost);
  a.Field(g.uncorrected);
  a.Field(g.uncorrected_rise);
  a.Field(g.rows_pending);
  a.Field(g.rows_failed);
  a.Field(g.clock_mhz);
  a.Field(g.most_clock_mhz);
  a.Field(g.throttle);
  a.Field(g.power_w);
  a.Field(g.power_limit_w);
  a.Field(g.temperature_c);
  a.Field(g.nvlinks_up);
  a.Field(g.nvlinks_usual);
  a.List(g.nvlinks, kMostNvLinks, [&](auto& link) {
    a.Field(link.number);
    a.Field(link.down);
    BusIdField(a, link.to);
    a.Field(link.replays);
    a.Field(link.recoveries);
    a.Field(link.check_errors);
  });
}

template <typename Archive, typename Process>
void ProcessFields(Archive& a, Process& p) {
  a.Field(p.pid);
  a.Field(p.name);
  a.Field(p.state);
  a.List(p.threads, kMostThreads, [&](auto& t) {
    a.Field(t.id);
    a.Field(t.name);
    a.Field(t.state);
    a.Field(t.system_call);
    a.Field(t.object);
    a.Field(t.kernel_place);
  });
  a.List(p.children, kMostChildren, [&](auto& name) { a.Field(name); });
  a.Field(p.run_ns);
  a.Field(p.queue_ns);
  a.Field(p.throttled_ns);
  a.Field(p.group_run_ns);
  a.Field(p.written_bytes);
  a.Field(p.end);
  EndingFields(a, p.ending);
  a.List(p.gpus, kMostGpus, [&](auto& gpu) { GpuFields(a, gpu); });
}

template <typename Archive, typename Call>
void CallFields(Archive& a, Call& call) {
  a.Field(call.word);
  a.Field(call.count);
}

template <typename Archive, typename Link>
void LinkFields(Archive& a, Link& l) {
  a.Field(l.peer);
  a.Field(l.channel);
  a.Field(l.sent);
  a.Field(l.received);
  a.Field(l.credit);
  a.Field(l.data_wait_ns);
  a.Field(l.room_wait_ns);
  a.Field(l.pace_bytes_per_s);
  a.Field(l.usual_bytes_per_s);
  a.Field(l.card);
  a.Field(l.arrived_bytes_per_s);
  a.Field(l.queued_percent);
}

// A number that is as a rule little less than another one, which takes few bytes so.
template <typename Archive, typename Number>
void BehindField(Archive& a, Number& number, std::uint64_t base) {
  std::uint64_t behind = 0;
  if constexpr (!Archive::kReads) behind = base - number;
  a.Field(behind);
  if constexpr (Archive::kReads) number = base - behind;
}

template <typename Archive, typename Flow>
void FlowFields(Archive& a, Flow& f) {
  a.Field(f.peer);
  a.Field(f.card);
  a.Field(f.posted);
  BehindField(a, f.completed, f.posted);
  a.Field(f.stuck_ns);
  a.Field(f.peer_is_full);
  a.Field(f.carries_bytes_per_s);
  a.Field(f.carries_little_bytes_per_s);
}

template <typename Archive, typename Wait>
void WaitFields(Archive& a, Wait& w) {
  a.Field(w.kind);
  a.Field(w.peer);
  a.Field(w.channel);
  a.Field(w.number);
  a.Field(w.since_ns);
  a.Field(w.looked_ns);
  a.Field(w.thread);
  std::uint8_t flags = (w.inside ? 1 : 0) | (w.on_gpu ? 2 : 0);
  a.Field(flags);
  if constexpr (Archive::kReads) {
    w.inside = (flags & 1) != 0;
    w.on_gpu = (flags & 2) != 0;
  }
  a.Field(w.longest_ns);
}

template <typename Archive, typename Rank>
void RankFields(Archive& a, Rank& r) {
  a.Field(r.rank);
  a.Field(r.process);
  a.Field(r.gpu);
  BusIdField(a, r.gpu_bus_id);
  a.Field(r.stream);
  a.Field(r.state);
  a.Field(r.records_calls);
  a.Field(r.thread);
  a.Field(r.created_ns);
  a.Field(r.called);
  BehindField(a, r.finished, r.called);
  a.Field(r.calls);
  a.Field(r.knows_collectives);
  a.Field(r.sequence);
  BehindField(a, r.finished_sequence, r.sequence);
  bool starts = r.started.has_value();
  a.Field(starts);
  if (starts) {
    if constexpr (Archive::kReads) r.started = 0;
    BehindField(a, *r.started, r.called);
    BehindField(a, r.started_sequence, r.sequence);
  }
  a.Field(r.running.number);
  a.Field(r.running.sequence);
  CallFields(a, r.running.call);
  a.Field(r.running.protocol);
  a.List(r.history, kMostHistory, [&](auto& run) {
    a.Field(run.first);
    a.Field(run.last);
    CallFields(a, run.call);
  });
  a.List(r.transfers, kMostItems, [&](auto& t) {
    a.Field(t.peer);
    a.Field(t.sends);
    a.Field(t.receives);
    if (!r.started) return;
    a.Field(t.started_sends);
    a.Field(t.started_receives);
  });
  a.Field(r.finished_is_done);
  WaitFields(a, r.wait);
  a.Field(r.elsewhere.communicator);
  a.Field(r.elsewhere.thread);
  a.List(r.links, kMostItems, [&](auto& link) { LinkFields(a, link); });
  a.List(r.flows, kMostItems, [&](auto& flow) { FlowFields(a, flow); });
  a.Field(r.failure_code);
  a.Field(r.failure);
  a.Field(r.blamed);
  a.Field(r.progress);
}

template <typename Archive, typename Rank>
void WholeFields(Archive& a, Rank& r) {
  a.Field(r.rank_of_whole);
  bool known = r.for_whole.has_value();
  a.Field(known);
  if (!known) return;
  if constexpr (Archive::kReads) r.for_whole.emplace();
  a.Field(r.for_whole->in_graph);
  a.Field(r.for_whole->number);
  a.Field(r.for_whole->sequence);
  CallFields(a, r.for_whole->call);
}

template <typename Archive, typename Communicator>
void CommunicatorFields(Archive& a, Communicator& c) {
  a.Field(c.id);
  a.Field(c.name);
  a.Field(c.whole);
  a.Field(c.ranks);
  a.Field(c.window);
  a.Field(c.created_unix_ns);
  a.Field(c.own_collectives);
  a.List(c.seen, kMostItems, [&](auto& rank) {
    RankFields(a, rank);
    if (c.whole != 0) WholeFields(a, rank);
  });
}

template <typename Archive, typename ReportOrConst>
void ReportFields(Archive& a, ReportOrConst& report) {
  a.Field(report.number);
  a.Field(report.look.taken_ns);
  a.List(report.look.processes, kMostItems, [&](auto& process) { ProcessFields(a, process); });
  a.List(report.look.communicators, kMostItems, [&](auto& communicator) { CommunicatorFields(a, communicator); });
}

template <typename Archive, typename QuestionOrConst>
void QuestionFields(Archive& a, QuestionOrConst& question) {
  a.Field(question.number);
  a.List(question.communicators, kMostQuestionIds, [&](auto& id) { a.Field(id); });
  a.Field(question.waits);
}

// Of any clock, and such that differences of two are numbers.
bool IsTime(std::int64_t ns) { return ns >= 0 && ns < std::int64_t{1} << 62; }

// Values that the analyser uses as indices, or that have names, are such as they can be.
bool IsSound(const diag::ProcessLook& process) {
  const auto known = [](diag::ProcessState s) { return s <= diag::ProcessState::kSilent; };
  const auto sound = [](const diag::GpuLook& gpu) {
    return IsTime(gpu.silent_ns) && std::ranges::all_of(gpu.xids, IsTime, &diag::XidLook::at_ns);
  };
  return known(process.state) && std::ranges::all_of(process.threads, known, &diag::ThreadLook::state) &&
         std::ranges::all_of(process.gpus, sound);
}

bool IsSound(const diag::RankLook& rank, const diag::CommunicatorLook& c, std::size_t processes) {
  const auto is_rank = [&](int r) { return r >= 0 && r < c.ranks; };
  const auto is_rank_or_none = [&](int r) { return r >= -1 && r < c.ranks; };
  return is_rank(rank.rank) && rank.process >= -1 && rank.process < static_cast<std::int64_t>(processes) &&
         rank.state <= diag::RankState::kFailed && is_rank_or_none(rank.blamed) &&
         rank.failure_code <= Code::kUnsupported && IsTime(rank.created_ns) && IsTime(rank.wait.since_ns) &&
         IsTime(rank.wait.looked_ns) && IsTime(rank.wait.longest_ns) && rank.wait.kind <= trace::WaitKind::kPages &&
         is_rank_or_none(rank.wait.peer) && rank.running.protocol >= -1 &&
         rank.running.protocol < trace::kBoxProtocols &&
         std::ranges::all_of(rank.links, is_rank, &diag::LinkLook::peer) &&
         std::ranges::all_of(rank.flows, [&](const diag::FlowLook& flow) {
           return is_rank(flow.peer) && IsTime(flow.stuck_ns) && flow.completed <= flow.posted;
         });
}

// Ascending, as the analyser searches them.
bool IsSound(const diag::CommunicatorLook& c, std::size_t processes) {
  const bool ascending =
      std::ranges::adjacent_find(c.seen, std::ranges::greater_equal{}, &diag::RankLook::rank) == c.seen.end();
  return ascending && std::ranges::all_of(c.seen, [&](const diag::RankLook& r) { return IsSound(r, c, processes); });
}

template <typename T, typename Fields>
std::vector<std::byte> Write(const T& value, const Fields& fields) {
  Writer out;
  out.Field(kForm);
  fields(out, value);
  return out.Take();
}

template <typename T, typename Fields>
Result<T> Read(std::span<const std::byte> message, const char* what, const Fields& fields) {
  Reader in(message);
  std::uint8_t form = 0;
  in.Field(form);
  in.Require(form == kForm);
  T value;
  fields(in, value);
  if (!in.AtEnd()) return Status(Code::kInvalidArgument, what);
  return value;
}

}  // namespace

std::vector<std::byte> Encode(const Question& question) {
  return Write(question, [](auto& a, auto& q) { QuestionFields(a, q); });
}

std::vector<std::byte> Encode(const Report& report) {
  return Write(report, [](auto& a, auto& r) { ReportFields(a, r); });
}

Result<Question> ParseQuestion(std::span<const std::byte> message) {
  return Read<Question>(message, "this is no question for a look", [](auto& a, auto& q) { QuestionFields(a, q); });
}

Result<Report> ParseReport(std::span<const std::byte> message) {
  constexpr const char* kWhat = "this is no report of a look";
  Result<Report> report = Read<Report>(message, kWhat, [](auto& a, auto& r) { ReportFields(a, r); });
  if (!report.ok()) return report;
  const diag::Look& look = report->look;
  const auto sound = [&](const diag::CommunicatorLook& c) { return IsSound(c, look.processes.size()); };
  const bool all = IsTime(look.taken_ns) &&
                   std::ranges::all_of(look.processes, [](const diag::ProcessLook& p) { return IsSound(p); }) &&
                   std::ranges::all_of(look.communicators, sound);
  if (!all) return Status(Code::kInvalidArgument, kWhat);
  return report;
}

}  // namespace tutti::watch
