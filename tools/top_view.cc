// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/top_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "algo/algorithm.h"
#include "proto/protocol.h"
#include "tools/cli.h"
#include "tools/json.h"

namespace tutti::tools {
namespace {

using trace::CallRecord;
using trace::View;
using trace::WaitKind;

constexpr std::uint64_t kShownCalls = 64;  // in JSON

std::string FormatNs(std::int64_t ns) {
  const double s = static_cast<double>(ns) * 1e-9;
  if (s < 1e-3) return fmt::format("{:.1f} us", s * 1e6);
  if (s < 1) return fmt::format("{:.1f} ms", s * 1e3);
  if (s < 120) return fmt::format("{:.1f} s", s);
  if (s < 7200) return fmt::format("{:.1f} min", s / 60);
  return fmt::format("{:.1f} h", s / 3600);
}

std::string DescribeHow(const CallRecord& record) {
  std::string text;
  const std::span<const algo::Entry> registry = algo::Registry();
  const auto entry = std::ranges::find_if(
      registry, [&](const algo::Entry& e) { return static_cast<int>(e.algorithm) == record.how.algorithm; });
  if (entry != registry.end()) text = fmt::format("{} ", entry->name);
  if (record.how.protocol >= proto::kProtocols) return text;
  text += proto::Name(static_cast<proto::Protocol>(record.how.protocol));
  if (record.how.by_reference) text += " by-ref";
  if (record.how.channels > 1) text += fmt::format(" x{}", record.how.channels);
  return text;
}

// The latest moment that is known at which a call before `number` was made or ended; 0: none is known.
std::int64_t LastTimeBefore(const View& view, std::uint64_t number) {
  std::int64_t latest = view.created_ns();
  (void)view.FindLatest([&](const CallRecord& r) {
    if (r.number >= number) return false;
    latest = std::max({latest, r.finished_ns, r.enqueued_at_most ? 0 : r.enqueued_ns});
    return r.enqueued_ns != 0;
  });
  return latest;
}

void SetAge(TopRow& row, const BoxCopy& box) {
  const CallRecord& call = row.call;
  const std::int64_t from_ns = call.started_ns > 0 ? call.started_ns : call.enqueued_ns;
  if (from_ns > 0) {
    row.age_ns = box.taken_ns() - from_ns;
    row.age = call.enqueued_at_most ? TopRow::Age::kAtLeast : TopRow::Age::kExact;
  } else if (const std::int64_t bound_ns = LastTimeBefore(box.view(), call.number); bound_ns > 0) {
    row.age_ns = box.taken_ns() - bound_ns;
    row.age = TopRow::Age::kAtMost;
  }
  if (row.age_ns < 0) row.age_ns = -1;
}

double MeanBytes(const View& view) {
  double sum = 0;
  int calls = 0;
  (void)view.FindLatest([&](const CallRecord& r) {
    sum += static_cast<double>(r.call.bytes());
    return ++calls == static_cast<int>(kShownCalls);
  });
  return calls == 0 ? 0 : sum / calls;
}

TopRow MakeRow(const BoxCopy& box, const std::vector<BoxCopy>& before) {
  const View& view = box.view();
  TopRow row;
  row.communicator = view.communicator();
  row.name = view.name();
  row.rank = view.rank();
  row.ranks = view.ranks();
  row.called = view.newest();
  row.finished = view.finished();
  const trace::WaitView wait = view.wait();
  // A call in a stream counts as ended, until its kernel is seen to wait.
  if (wait.on_gpu && wait.number > 0) row.finished = std::min(row.finished, wait.number - 1);
  row.busy = row.finished < row.called;
  row.failure = view.failure();
  std::optional<CallRecord> call = view.Find(row.busy ? row.finished + 1 : row.called);
  // Of a rank at full speed the latest call may have been torn; one just before it does as well.
  if (!call) call = view.FindLatest([](const CallRecord&) { return true; });
  if (call) {
    row.call = *call;
    row.algorithm = DescribeHow(*call);
    SetAge(row, box);
  }
  if (wait.on_gpu || (row.busy && wait.number > row.finished)) {
    row.wait = wait;
    row.waited_ns = std::max<std::int64_t>(box.taken_ns() - wait.since_ns, 0);
  }
  for (const BoxCopy& old : before) {
    if (old.view().communicator() != row.communicator || old.view().rank() != row.rank) continue;
    if (old.view().created_ns() != view.created_ns() || box.taken_ns() <= old.taken_ns()) continue;
    const double seconds = static_cast<double>(box.taken_ns() - old.taken_ns()) * 1e-9;
    const std::uint64_t calls = row.finished - std::min(row.finished, old.view().finished());
    row.calls_per_s = static_cast<double>(calls) / seconds;
    row.bytes_per_s = row.calls_per_s * MeanBytes(view);
  }
  return row;
}

const char* KindWord(WaitKind kind) {
  constexpr const char* kWords[] = {"nothing", "data", "room", "readers", "pages"};
  return kWords[static_cast<int>(kind)];
}

Json CallAsJson(const CallRecord& r) {
  Json json = {{"number", r.number},
               {"sequence", r.sequence},
               {"function", r.call.function_name()},
               {"count", r.call.count},
               {"type", trace::PlainName(r.call.type())},
               {"call", r.call.ToString()},
               {"signature", fmt::format("{:016x}", r.call.signature())},
               {"how", DescribeHow(r)}};
  if (r.enqueued_ns != 0) json["enqueued_ns"] = r.enqueued_ns;
  if (r.enqueued_at_most) json["enqueued_at_most"] = true;
  if (r.started_ns != 0) json["started_ns"] = r.started_ns;
  if (r.finished_ns != 0) json["finished_ns"] = r.finished_ns;
  return json;
}

Json LinksAsJson(const View& view) {
  Json links = Json::Array();
  for (int channel = 0; channel < view.channels(); ++channel) {
    for (int peer = 0; peer < view.ranks(); ++peer) {
      const trace::LinkView link = view.link(channel, peer);
      if (link.sent == decltype(link.sent){} && link.received == decltype(link.received){} && link.data_wait_ns == 0 &&
          link.credit_wait_ns == 0) {
        continue;
      }
      Json json = {{"channel", channel},
                   {"peer", peer},
                   {"data_wait_ns", link.data_wait_ns},
                   {"credit_wait_ns", link.credit_wait_ns}};
      for (int p = 0; p < proto::kProtocols; ++p) {
        json[std::string(proto::Name(static_cast<proto::Protocol>(p)))] = {
            {"sent", link.sent[p]}, {"received", link.received[p]}, {"credit", link.credit[p]}};
      }
      links.Append(std::move(json));
    }
  }
  return links;
}

std::string FormatAge(const TopRow& row) {
  if (row.call.number == 0 || row.age_ns < 0) return "-";
  return fmt::format("{}{}", row.age == TopRow::Age::kAtMost ? "<" : "", FormatNs(row.age_ns));
}

}  // namespace

std::vector<TopRow> MakeRows(const std::vector<BoxCopy>& boxes, const std::vector<BoxCopy>& before) {
  std::vector<TopRow> rows;
  for (const BoxCopy& box : boxes) rows.push_back(MakeRow(box, before));
  return rows;
}

std::string DescribeWait(const TopRow& row) {
  const trace::WaitView& wait = row.wait;
  const std::string who = wait.peer < 0 ? "its peers" : fmt::format("rank {}", wait.peer);
  const std::string time = FormatNs(row.waited_ns);
  switch (wait.kind) {
    case WaitKind::kNothing:
      return "";
    case WaitKind::kData:
      return fmt::format("data of {} for {}", who, time);
    case WaitKind::kRoom:
      return fmt::format("room to send to {} for {}", who, time);
    case WaitKind::kReaders:
      return fmt::format("{} to read its buffer for {}", who, time);
    case WaitKind::kPages:
      return fmt::format("shared pages for {}", time);
  }
  return "";
}

std::string FormatRows(std::int32_t pid, const std::vector<TopRow>& rows) {
  return fmt::format("process {}: {} rank{} of Tutti communicators\n", pid, rows.size(), rows.size() == 1 ? "" : "s") +
         FormatTable(rows);
}

std::string FormatTable(const std::vector<TopRow>& rows) {
  std::string text = fmt::format("{:<18} {:>9} {:>10} {:<44} {:<20} {:>9} {:>10} {:>12}  {}\n", "communicator", "rank",
                                 "calls", "operation", "algorithm", "age", "calls/s", "bytes/s", "waits for");
  for (const TopRow& row : rows) {
    const std::string who = row.name.empty() ? fmt::format("{:#018x}", row.communicator) : row.name;
    const std::string what = row.call.number == 0 ? "none yet"
                             : row.busy           ? row.call.call.ToString()
                                                  : "idle; last " + row.call.call.ToString();
    text += fmt::format("{:<18} {:>9} {:>10} {:<44} {:<20} {:>9} {:>10.0f} {:>12}  {}\n", who,
                        fmt::format("{} of {}", row.rank, row.ranks), row.called, what, row.algorithm, FormatAge(row),
                        row.calls_per_s, FormatBytes(static_cast<std::size_t>(row.bytes_per_s)), DescribeWait(row));
    if (!row.failure.empty()) text += fmt::format("  broken: {}\n", row.failure);
  }
  return text;
}

Json RowsAsJson(std::int32_t pid, const std::vector<BoxCopy>& boxes, const std::vector<TopRow>& rows) {
  Json json = {{"pid", pid}, {"ranks", Json::Array()}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const TopRow& row = rows[i];
    const View& view = boxes[i].view();
    Json one = {{"communicator", fmt::format("{:016x}", row.communicator)},
                {"name", row.name},
                {"rank", row.rank},
                {"ranks", row.ranks},
                {"channels", view.channels()},
                {"pid", view.pid()},
                {"created_ns", view.created_ns()},
                {"created_unix_ns", view.created_unix_ns()},
                {"taken_ns", boxes[i].taken_ns()},
                {"called", row.called},
                {"finished", row.finished},
                {"calls_per_s", row.calls_per_s},
                {"bytes_per_s", row.bytes_per_s},
                {"failure", row.failure}};
    if (row.busy && row.call.number != 0) {
      one["running"] = CallAsJson(row.call);
      one["age_ns"] = row.age_ns;
      one["age_at_most"] = row.age == TopRow::Age::kAtMost;
    }
    if (row.wait.kind != WaitKind::kNothing) {
      one["wait"] = {{"for", KindWord(row.wait.kind)},
                     {"peer", row.wait.peer},
                     {"channel", row.wait.channel},
                     {"ns", row.waited_ns}};
    }
    one["calls"] = Json::Array();
    (void)view.FindLatest([&](const CallRecord& r) {
      one["calls"].Append(CallAsJson(r));
      return one["calls"].size() >= kShownCalls;
    });
    one["links"] = LinksAsJson(view);
    json["ranks"].Append(std::move(one));
  }
  return json;
}

}  // namespace tutti::tools
