// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// The text protocol of PMI-1: a line for each request, "cmd=get kvsname=K key=A", and one for each answer.
#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "sys/job/job_store.h"
#include "sys/os/clock.h"

namespace tutti::sys {
namespace {

constexpr std::string_view kKey = "tutti-id";
constexpr std::size_t kMostLine = 4096;

// "b" of "cmd=a name=b" for "name"; nullopt where it is not there.
std::optional<std::string> Field(std::string_view line, std::string_view name) {
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    const std::string_view word = line.substr(0, end);
    if (word.size() > name.size() && word.starts_with(name) && word[name.size()] == '=') {
      return std::string(word.substr(name.size() + 1));
    }
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return std::nullopt;
}

class PmiConnection {
 public:
  PmiConnection(int fd, std::int64_t deadline_ns) : fd_(fd), deadline_ns_(deadline_ns) {}

  // Sends a request; the answer, which must be a `reply` and a success.
  Result<std::string> Ask(const std::string& request, std::string_view reply) {
    const std::string line = request + "\n";
    // The launcher reads whenever it can, and a request is far smaller than what a socket holds.
    const ssize_t sent = send(fd_, line.data(), line.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(line.size()))
      return Gone(sent < 0 ? std::strerror(errno) : "only a part was sent");
    Result<std::string> answer = ReadLine();
    if (!answer.ok()) return answer;
    if (Field(*answer, "cmd") == reply && Field(*answer, "rc").value_or("0") == "0") return answer;
    return Status(
        Code::kSystem,
        fmt::format("the launcher answers \"{}\" to \"{}\", so its store (PMI-1) cannot pass the job's id on: "
                    "give all ranks one id in TUTTI_ID, or set NCCL_COMM_ID=host:port",
                    *answer, request.substr(0, request.find(" value="))));
  }

 private:
  Status Gone(std::string_view why) const {
    return Status(Code::kRemote, fmt::format("the connection to the launcher (PMI_FD={}) is of no use: {}. Likely the "
                                             "launcher has ended, or the program closed it",
                                             fd_, why));
  }

  // A byte at a time, so that nothing is taken that belongs to a later user of the connection.
  Result<std::string> ReadLine() {
    std::string line;
    while (line.size() < kMostLine) {
      pollfd watched{.fd = fd_, .events = POLLIN, .revents = 0};
      const std::int64_t left_ms = (deadline_ns_ - NowNs()) / kNsPerMs;
      if (left_ms <= 0) {
        return Status(Code::kTimeout,
                      "the launcher's store (PMI-1) has not answered: likely a rank has not come to where its "
                      "communicator is made; raise TUTTI_INIT_TIMEOUT_MS if ranks may be so late");
      }
      const int ready = poll(&watched, 1, static_cast<int>(std::min<std::int64_t>(left_ms, 1000)));
      if (ready < 0 && errno != EINTR) return Gone(std::strerror(errno));
      if (ready <= 0) continue;
      char byte = 0;
      const ssize_t got = read(fd_, &byte, 1);
      if (got == 0) return Gone("it was closed");
      if (got < 0 && errno != EINTR && errno != EAGAIN) return Gone(std::strerror(errno));
      if (got != 1) continue;
      if (byte == '\n') return line;
      line += byte;
    }
    return Gone("it said a line without end");
  }

  const int fd_;
  const std::int64_t deadline_ns_;
};

}  // namespace

Result<std::string> internal::ShareByPmi(int pmi_fd, int rank, const std::string& text, std::int64_t deadline_ns) {
  PmiConnection launcher(pmi_fd, deadline_ns);
  Result<std::string> answer = launcher.Ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
  if (!answer.ok()) return answer;
  answer = launcher.Ask("cmd=get_my_kvsname", "my_kvsname");
  if (!answer.ok()) return answer;
  const std::string store = Field(*answer, "kvsname").value_or("");
  if (rank == 0) {
    answer = launcher.Ask(fmt::format("cmd=put kvsname={} key={} value={}", store, kKey, text), "put_result");
    if (!answer.ok()) return answer;
  }
  answer = launcher.Ask("cmd=barrier_in", "barrier_out");
  if (!answer.ok()) return answer;
  answer = launcher.Ask(fmt::format("cmd=get kvsname={} key={}", store, kKey), "get_result");
  if (!answer.ok()) return answer;
  const std::string shared = Field(*answer, "value").value_or("");
  // A launcher takes a process that ends without this for one that has failed, and ends the others.
  answer = launcher.Ask("cmd=finalize", "finalize_ack");
  if (!answer.ok()) return answer;
  return shared;
}

}  // namespace tutti::sys
