// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/trace.h"

#include <fmt/format.h>

#include <cstddef>
#include <string>

namespace tutti::sim {
namespace {

// A name as a JSON string.
std::string Quote(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

// Microseconds with all digits of a Time.
std::string Us(Time time) { return fmt::format("{}.{:06}", time / 1000000, time % 1000000); }

}  // namespace

void WriteChromeTrace(const Job& job, const Outcome& outcome, const MessageLog* log,
                      const std::function<void(std::string_view)>& write) {
  write("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [");
  const char* separator = "\n";
  const auto add = [&](const std::string& event) {
    write(separator);
    write(event);
    separator = ",\n";
  };
  for (std::size_t rank = 0; rank < outcome.rank_end.size(); ++rank) {
    add(fmt::format(R"({{"ph": "M", "pid": {0}, "name": "process_name", "args": {{"name": "rank {0}"}}}})", rank));
  }
  for (std::size_t i = 0; i < job.tasks.size(); ++i) {
    const Task& task = job.tasks[i];
    const Span& span = outcome.tasks[i];
    if (span.start == kNever || span.end == kNever) continue;
    const std::string name =
        task.operation < 0 ? "compute" : job.operations[static_cast<std::size_t>(task.operation)].name;
    add(fmt::format(R"({{"ph": "X", "pid": {}, "tid": {}, "name": {}, "ts": {}, "dur": {}}})", task.rank, task.stream,
                    Quote(name), Us(span.start), Us(span.end - span.start)));
  }
  if (log != nullptr) {
    for (std::size_t i = 0; i < log->records().size(); ++i) {
      const MessageRecord& record = log->records()[i];
      const std::string common =
          fmt::format(R"("cat": "message", "id": {}, "pid": {}, "name": "to rank {}, channel {}")", i, record.from,
                      record.to, record.channel);
      add(fmt::format(R"({{"ph": "b", {}, "ts": {}, "args": {{"bytes": {}}}}})", common, Us(record.sent),
                      record.wire_bytes));
      add(fmt::format(R"({{"ph": "e", {}, "ts": {}}})", common, Us(record.arrived)));
    }
  }
  write("\n]}\n");
}

}  // namespace tutti::sim
