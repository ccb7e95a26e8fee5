// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/record_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "diag/sentence.h"
#include "tools/cli.h"
#include "tools/record_rows.h"
#include "tools/record_spans.h"

namespace tutti::tools {
namespace {

using trace::WaitKind;

double Us(std::int64_t ns) { return static_cast<double>(ns) / 1000.0; }

const char* WaitRow(WaitKind kind) {
  constexpr const char* kNames[] = {"", "waits for data", "waits for room", "waits for readers", "waits for pages"};
  return kNames[static_cast<int>(kind)];
}

const char* StateName(CallState state) {
  constexpr const char* kNames[] = {"queued", "running", "in the GPU's stream", "ended"};
  return kNames[static_cast<int>(state)];
}

std::string NameOf(const CallSpan& span) {
  const std::string_view function = span.first.record.call.function_name();
  if (span.state == CallState::kQueued && span.calls > 1)
    return fmt::format("{} calls, {} first", span.calls, function);
  if (span.begin != CallSpan::Begin::kBetween) return std::string(function);
  return span.calls == 1 ? fmt::format("{}, no clock", function)
                         : fmt::format("{} x {}, no clock", span.calls, function);
}

Json ArgumentsOf(const CallSpan& span, const RecordCommunicator& c) {
  const trace::CallRecord& r = span.first.record;
  Json args = {{"call", r.call.ToString()},
               {"communicator", fmt::format("{:016x}", c.look->id)},
               {"number", r.number},
               {"sequence", r.sequence},
               {"state", StateName(span.state)}};
  if (span.calls > 1) args["calls"] = span.calls;
  if (span.begin != CallSpan::Begin::kBetween && r.enqueued_ns != span.from_ns) args["enqueued_us"] = Us(r.enqueued_ns);
  switch (span.begin) {
    case CallSpan::Begin::kExact:
      break;
    case CallSpan::Begin::kAtMost:
      args["enqueued_at_most"] = true;
      break;
    case CallSpan::Begin::kBetween:
      args["clock"] = "none was read: called between the two bounds, and drawn where there was room";
      args["enqueued_at_least_us"] = Us(span.first.at_least_ns);
      args["enqueued_at_most_us"] = Us(span.first.at_most_ns);
      break;
  }
  if (!span.ends) args["end"] = "no clock was read: drawn up to the next one, or to when the black box was read";
  return args;
}

// Where a call was drawn, for the arrows.
struct Drawn {
  std::int64_t pid = 0;
  int row = 0;
  std::int64_t from_ns = 0, to_ns = 0;
  bool sends = false;
};

struct Waiting {
  const RecordCommunicator* communicator = nullptr;
  const RecordMember* member = nullptr;
};

class Writer {
 public:
  explicit Writer(std::optional<std::int64_t> last_ns) : last_ns_(last_ns) {}

  void Add(const RecordJob& job, std::int64_t first_pid) {
    from_ns_ = last_ns_ ? job.taken_ns - *last_ns_ : INT64_MIN;
    calls_.clear();
    for (const RecordRank& rank : job.ranks) AddRank(job, rank, first_pid + rank.number);
    AddArrows();
    for (const diag::Verdict& v : job.verdicts) {
      if (v.severity != diag::Severity::kQuiet) AddVerdict(job, v, first_pid);
    }
  }

  std::string Take(std::int64_t base_ns) {
    const Json about = {{"version", fmt::format("tutti {}", Version())}, {"clock", "CLOCK_MONOTONIC"}};
    std::string text =
        fmt::format(R"({{"displayTimeUnit": "ns", "baseTimeNanoseconds": {}, "otherData": {}, "traceEvents": [)",
                    base_ns, about.Dump(-1));
    const char* before = "\n";
    for (std::vector<std::string>* part : {&heads_, &spans_, &arrows_, &instants_}) {
      for (const std::string& event : *part) {
        text += before + event;
        before = ",\n";
      }
      part->clear();
    }
    return text + "\n]}\n";
  }

 private:
  // Calls that belong together: the communicator, the sender and receiver or -1, the sequence number.
  using CallKey = std::tuple<std::uint64_t, int, int, std::uint64_t>;

  void AddRank(const RecordJob& job, const RecordRank& rank, std::int64_t pid) {
    const auto place = static_cast<std::size_t>(&rank - job.ranks.data());
    Head(pid, "process_name", "name",
         fmt::format("rank {} (host {}, pid {}{}{})", rank.number, rank.host.empty() ? "not known" : rank.host,
                     rank.pid, rank.process.empty() ? "" : ", ", rank.process));
    Head(pid, "process_sort_index", "sort_index", pid);
    int next_row = 1;
    std::vector<Waiting> waits;
    for (const RecordCommunicator& c : job.communicators) {
      Rows rows(c.title), queue(c.title + ", queued");
      for (const RecordMember& member : c.members) {
        if (member.place != place || member.box == nullptr) continue;
        const std::vector<CallSpan> spans = MakeSpans(*member.box, member.taken_ns);
        AddCalls(c, member, spans, pid, next_row, rows);
        const int queue_row = next_row + rows.count();
        for (const CallSpan& span : spans) {
          if (span.state == CallState::kQueued)
            AddCall(c, span, pid, queue_row + queue.Place(span.from_ns, span.to_ns));
        }
        const diag::WaitLook& wait = member.look->wait;
        if (wait.kind != WaitKind::kNothing && wait.number > member.look->finished) waits.push_back({&c, &member});
      }
      next_row = NameRows(pid, next_row, rows);
      next_row = NameRows(pid, next_row, queue);
    }
    AddWaits(waits, pid, next_row);
  }

  // A row for each kind, or several where ranks of one process wait at the same time.
  void AddWaits(std::vector<Waiting>& waits, std::int64_t pid, int next_row) {
    std::ranges::stable_sort(waits, {}, [](const Waiting& w) {
      return std::pair(w.member->look->wait.kind, w.member->look->wait.since_ns);
    });
    for (std::size_t i = 0; i < waits.size();) {
      const WaitKind kind = waits[i].member->look->wait.kind;
      Rows rows(WaitRow(kind));
      for (; i < waits.size() && waits[i].member->look->wait.kind == kind; ++i)
        AddWait(*waits[i].communicator, *waits[i].member, pid, next_row, rows);
      next_row = NameRows(pid, next_row, rows);
    }
  }

  // Those that have begun.
  void AddCalls(const RecordCommunicator& c, const RecordMember& member, const std::vector<CallSpan>& spans,
                std::int64_t pid, int first_row, Rows& rows) {
    const int rank = member.look->rank;
    for (const CallSpan& span : spans) {
      if (span.to_ns < from_ns_ || span.state == CallState::kQueued) continue;
      const int row = first_row + rows.Place(span.from_ns, span.to_ns);
      AddCall(c, span, pid, row);
      if (span.calls > 1) continue;
      const trace::Call& call = span.first.record.call;
      const bool sends = call.function() == Collective::kSend;
      const CallKey key{c.look->id,
                        !call.is_transfer() ? -1
                        : sends             ? rank
                                            : call.root(),
                        !call.is_transfer() ? -1
                        : sends             ? call.root()
                                            : rank,
                        span.first.record.sequence};
      calls_[key].push_back({.pid = pid, .row = row, .from_ns = span.from_ns, .to_ns = span.to_ns, .sends = sends});
    }
  }
  void AddCall(const RecordCommunicator& c, const CallSpan& span, std::int64_t pid, int row) {
    Span(pid, row, span.begin == CallSpan::Begin::kBetween ? "call without a clock" : "call", NameOf(span),
         span.from_ns, span.to_ns, ArgumentsOf(span, c));
  }

  void AddWait(const RecordCommunicator& c, const RecordMember& member, std::int64_t pid, int first_row, Rows& rows) {
    const diag::WaitLook& wait = member.look->wait;
    const int row = first_row + rows.Place(wait.since_ns, member.taken_ns);
    const std::string whom = wait.peer < 0 ? "its peers" : fmt::format("rank {} of {}", wait.peer, c.title);
    Span(pid, row, "wait", fmt::format("{}: {}", WaitRow(wait.kind), whom), wait.since_ns, member.taken_ns,
         {{"communicator", fmt::format("{:016x}", c.look->id)},
          {"number", wait.number},
          {"peer", wait.peer},
          {"channel", wait.channel},
          {"looked_us", Us(wait.looked_ns)}});
  }

  // A collective's arrow begins at the rank that came first and leads over all others to the one that came last; that of a send
  // leads to its receive.
  void AddArrows() {
    for (auto& [key, all] : calls_) {
      const bool transfer = std::get<1>(key) >= 0;
      if (all.size() < 2) continue;
      std::ranges::stable_sort(all, [&](const Drawn& a, const Drawn& b) {
        return transfer && a.sends != b.sends ? a.sends : a.from_ns < b.from_ns;
      });
      if (transfer && (all.size() != 2 || !all[0].sends || all[1].sends)) continue;
      AddArrow(transfer ? "transfer" : "collective", transfer ? "send to receive" : "the same collective", all);
    }
  }

  // Readers put its points in order by their times alone, so each is later than that before. One that would lie behind its span's end
  // is left out.
  void AddArrow(const char* category, const char* name, std::vector<Drawn>& points) {
    std::vector<Drawn> kept;
    for (Drawn& d : points) {
      if (!kept.empty()) d.from_ns = std::max(d.from_ns, kept.back().from_ns + 1);
      if (d.from_ns < d.to_ns) kept.push_back(d);
    }
    if (kept.size() < 2) return;
    ++arrow_;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      Json event = {{"ph", i == 0                 ? "s"
                           : i + 1 == kept.size() ? "f"
                                                  : "t"},
                    {"cat", category},
                    {"name", name},
                    {"id", arrow_},
                    {"pid", kept[i].pid},
                    {"tid", kept[i].row},
                    {"ts", Us(kept[i].from_ns)}};
      if (i > 0) event["bp"] = "e";
      arrows_.push_back(event.Dump(-1));
    }
  }

  void AddVerdict(const RecordJob& job, const diag::Verdict& v, std::int64_t first_pid) {
    Json args = {{"sentence", diag::Sentence(v)},
                 {"kind", diag::Name(v.kind)},
                 {"severity", diag::Name(v.severity)},
                 {"confidence", diag::Name(v.confidence)},
                 {"waited_s", static_cast<double>(v.held_ns) * 1e-9},
                 {"evidence", v.evidence}};
    if (v.since_unix_ns != 0) args["since_us"] = Us(v.since_unix_ns - job.unix_offset_ns);
    std::vector<std::int64_t> pids;
    const auto add = [&](const diag::Place& place) {
      const RecordCommunicator* c = job.Find(place.communicator);
      const RecordMember* member = c == nullptr ? nullptr : c->Find(place.rank);
      if (member == nullptr) return;
      const std::int64_t pid = first_pid + job.ranks[member->place].number;
      if (std::ranges::find(pids, pid) == pids.end()) pids.push_back(pid);
    };
    for (const diag::Place& place : v.culprits) add(place);
    for (const diag::LinkPlace& link : v.links) {
      add(link.from);
      add(link.to);
    }
    const bool known = !pids.empty();
    if (!known) pids.push_back(first_pid + job.ranks.front().number);
    for (const std::int64_t pid : pids) {
      const Json event = {{"ph", "i"},
                          {"s", known ? "p" : "g"},
                          {"cat", "verdict"},
                          {"name", fmt::format("{}: {}", diag::Name(v.severity), diag::Name(v.kind))},
                          {"pid", pid},
                          {"tid", 0},
                          {"ts", Us(job.taken_ns)},
                          {"args", args}};
      instants_.push_back(event.Dump(-1));
    }
  }

  void Head(std::int64_t pid, const char* name, const char* argument, Json value, int row = 0) {
    const Json event = {
        {"ph", "M"}, {"name", name}, {"pid", pid}, {"tid", row}, {"args", {{argument, std::move(value)}}}};
    heads_.push_back(event.Dump(-1));
  }
  void Span(std::int64_t pid, int row, const char* category, std::string name, std::int64_t from_ns, std::int64_t to_ns,
            Json args) {
    const Json event = {{"ph", "X"},
                        {"cat", category},
                        {"name", std::move(name)},
                        {"pid", pid},
                        {"tid", row},
                        {"ts", Us(from_ns)},
                        {"dur", Us(std::max<std::int64_t>(to_ns - from_ns, 1))},
                        {"args", std::move(args)}};
    spans_.push_back(event.Dump(-1));
  }
  // The number of the row after these.
  int NameRows(std::int64_t pid, int first_row, const Rows& rows) {
    for (int i = 0; i < rows.count(); ++i) {
      Head(pid, "thread_name", "name", rows.NameOf(i), first_row + i);
      Head(pid, "thread_sort_index", "sort_index", first_row + i, first_row + i);
    }
    return first_row + rows.count();
  }

  const std::optional<std::int64_t> last_ns_;
  std::int64_t from_ns_ = 0;  // what ended before is left out
  std::map<CallKey, std::vector<Drawn>> calls_;
  std::uint64_t arrow_ = 0;
  // Events as text, which takes far less memory than Json.
  std::vector<std::string> heads_, spans_, arrows_, instants_;
};

}  // namespace

std::string MakeTrace(const std::vector<RecordJob>& jobs, std::optional<std::int64_t> last_ns) {
  Writer writer(last_ns);
  std::int64_t pid = 0;
  for (const RecordJob& job : jobs) {
    writer.Add(job, pid);
    pid += kTracePidsPerJob;
  }
  return writer.Take(jobs.empty() ? 0 : jobs.front().unix_offset_ns);
}

}  // namespace tutti::tools
