// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_RAS_SESSION_H_
#define TUTTI_RAS_SESSION_H_

// NCCL's protocol 2 between a RAS client and a process of a job, as far as it is bytes that come in and bytes that go out. Lines end
// in a line feed, with or without a carriage return before it; capitals do not count.
//
//   CLIENT PROTOCOL n          SERVER PROTOCOL 2; whatever n is
//   TIMEOUT seconds            OK. Nothing here waits for other processes, so it changes nothing
//   SET FORMAT text|json       OK
//   STATUS, VERBOSE STATUS     the report; then the connection ends
//   TUTTI LOOK                 what a tool of Tutti reads (look_lines.h); then the connection ends. Not NCCL's
//   MONITOR [groups]           OK, then events until the client goes; groups: lifecycle, trace, all, separated by commas
//   anything else              ERROR: and why

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ras/events.h"
#include "ras/report.h"

namespace tutti::ras {

inline constexpr int kProtocol = 2;
inline constexpr std::size_t kMostLineBytes = 1024;

// Threads: one at a time.
class Session {
 public:
  using MakeReportNow = std::function<const Report&()>;

  // What is told to a tool of Tutti; empty where it would be too much.
  using MakeLookNow = std::function<const std::vector<std::byte>&()>;

  // Without `make_look` there is no such command.
  explicit Session(MakeReportNow make_report, MakeLookNow make_look = {})
      : make_report_(std::move(make_report)), make_look_(std::move(make_look)) {}

  // Bytes that have come. False: what comes is no protocol, or its answers are not read, and the connection is to be cut.
  // Nothing that comes after a STATUS counts.
  bool Take(std::string_view bytes);
  // An event, for those who monitor its group. False: too much that was told before has not been read.
  bool Tell(const Event& event);

  // What is to be sent, and that so much of it was.
  std::string_view outgoing() const { return std::string_view(outgoing_).substr(sent_); }
  void Sent(std::size_t bytes);
  // The connection ends once all is sent.
  bool ends() const { return ends_; }
  bool monitors() const { return groups_ != 0; }

 private:
  bool Answer(std::string_view line);
  bool AnswerLook();
  bool AnswerFormat(std::string_view format);
  bool AnswerMonitor(std::string_view groups);
  bool Say(std::string_view text);

  const MakeReportNow make_report_;
  const MakeLookNow make_look_;
  std::string incoming_;  // the beginning of a line
  std::string outgoing_;
  std::size_t sent_ = 0;
  bool json_ = false;
  bool ends_ = false;
  unsigned groups_ = 0;
};

}  // namespace tutti::ras

#endif  // TUTTI_RAS_SESSION_H_
