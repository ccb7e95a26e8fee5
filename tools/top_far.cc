// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/top_far.h"

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "ras/door.h"
#include "ras/look_lines.h"
#include "sys/net/tcp.h"
#include "sys/net/unix_socket.h"
#include "sys/os/clock.h"
#include "sys/os/process.h"
#include "watch/far_report.h"

namespace tutti::tools {
namespace {

// Who answers may have waited for other hosts for 2 s, and for the process that should have answered for 0.4 s.
constexpr std::int64_t kMostNs = 3 * sys::kNsPerSecond;
constexpr std::int64_t kPauseNs = 10 * sys::kNsPerSecond;
// Two digits for a byte, line ends, and a head.
constexpr std::size_t kMostAnswerBytes = watch::kMostReportBytes * 2 + watch::kMostReportBytes / ras::kLineBytes + 64;

Result<sys::TcpConnection> Connect(const sys::Endpoint& endpoint, std::int64_t deadline_ns) {
  Result<sys::Fd> socket = sys::StartConnect(endpoint);
  if (!socket.ok()) return socket.status();
  while (true) {
    Result<sys::TcpConnection> connection = sys::FinishConnect(*socket, endpoint);
    if (connection.ok() || connection.status().code() != Code::kInProgress) return connection;
    if (sys::NowNs() >= deadline_ns) return Status(Code::kTimeout, "");
    sys::Watched watched{.fd = socket->get(), .what = sys::Watched::For::kReadingAndWriting};
    if (const auto ready = sys::WaitAny(std::span(&watched, 1), deadline_ns); !ready.ok()) return ready.status();
  }
}

// All that comes until the end.
Result<std::string> Converse(sys::TcpConnection& connection, std::string_view question, std::int64_t deadline_ns) {
  std::span<const std::byte> rest = std::as_bytes(std::span(question));
  while (!rest.empty()) {
    const Result<std::size_t> sent = connection.Send(rest);
    if (sent.ok()) {
      rest = rest.subspan(*sent);
    } else if (sent.status().code() != Code::kInProgress) {
      return sent.status();
    } else if (const Status ready = connection.WaitWritable(deadline_ns); !ready.ok()) {
      return ready;
    }
  }
  std::string answer;
  std::array<char, 1 << 16> buffer;
  while (answer.size() <= kMostAnswerBytes) {
    if (const Status ready = connection.WaitReadable(deadline_ns); !ready.ok()) return ready;
    const Result<std::size_t> bytes = connection.Receive(std::as_writable_bytes(std::span(buffer)));
    if (bytes.ok()) {
      answer.append(buffer.data(), *bytes);
    } else if (bytes.status().code() == Code::kRemote) {
      return answer;
    } else if (bytes.status().code() != Code::kInProgress) {
      return bytes.status();
    }
  }
  return Status(Code::kInvalidArgument, "");
}

}  // namespace

std::optional<watch::JointLook> FarLooks::Ask() {
  const std::int64_t now_ns = sys::NowNs();
  if (address_.empty() || now_ns < not_before_ns_) return std::nullopt;
  Result<watch::JointLook> told = AskNow(now_ns + kMostNs);
  if (told.ok()) return std::move(*told);
  not_before_ns_ = sys::NowNs() + kPauseNs;
  return std::nullopt;
}

Result<watch::JointLook> FarLooks::AskNow(std::int64_t deadline_ns) {
  if (endpoints_.empty()) {
    Result<std::vector<sys::Endpoint>> endpoints = ras::EndpointsOf(address_, deadline_ns);
    if (!endpoints.ok()) return endpoints.status();
    endpoints_ = std::move(*endpoints);
  }
  Status problem(Code::kInvalidArgument, "");
  for (const sys::Endpoint& endpoint : endpoints_) {
    Result<sys::TcpConnection> connection = Connect(endpoint, deadline_ns);
    if (!connection.ok()) {
      problem = connection.status();
      continue;
    }
    const Result<std::string> answer = Converse(*connection, std::string(ras::kAskForLook) + "\n", deadline_ns);
    if (!answer.ok()) return answer.status();
    const Result<std::vector<std::byte>> message = ras::FromLines(*answer);
    if (!message.ok()) return message.status();
    Result<watch::JointLook> told = watch::ParseJointLook(*message);
    // Times of another machine's clock cannot be compared with those of this one.
    if (told.ok() && told->machine != sys::HostHash()) return Status(Code::kInvalidArgument, "");
    return told;
  }
  return problem;
}

}  // namespace tutti::tools
