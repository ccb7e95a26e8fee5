// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/diag/ras_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "sys/os/fd.h"

namespace tutti::tests {
namespace {

using nlohmann::json;
using Counts = std::map<std::string, std::uint64_t>;  // launched, by collective

struct Job {
  std::map<int, Counts> ranks;
  std::set<int> gone;
  bool begins = false;
};

// The communicators of all answers, by their hash.
std::map<std::string, Job> Read(const std::vector<std::string>& answers) {
  std::map<std::string, Job> jobs;
  for (const std::string& answer : answers) {
    const json all = json::parse(answer, nullptr, false);
    if (all.is_discarded()) continue;
    for (const json& communicator : all["communicators"]) {
      Job& job = jobs[communicator["hash"]];
      for (const json& rank : communicator["ranks"]) {
        job.ranks[rank["rank"]] = rank["collective_counts"].get<Counts>();
        job.begins |= rank["status"]["init_state"] != 0;
      }
      for (const json& missing : communicator["missing_ranks"]) {
        const json& status = missing["status"];
        if (status["unresponsive"] || status["considered_dead"]) job.gone.insert(missing["rank"].get<int>());
      }
    }
  }
  return jobs;
}

}  // namespace

std::string AskRas(std::uint16_t port) {
  const sys::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{.tv_sec = 2, .tv_usec = 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return "";
  const std::string question = "SET FORMAT json\nSTATUS\n";
  if (send(socket.get(), question.data(), question.size(), MSG_NOSIGNAL) < 0) return "";
  std::string all;
  char part[4096];
  for (ssize_t n = 0; (n = recv(socket.get(), part, sizeof(part), 0)) > 0;)
    all.append(part, static_cast<std::size_t>(n));
  // "OK" comes first.
  const std::size_t begin = all.find('{');
  return begin == std::string::npos ? "" : all.substr(begin);
}

std::set<int> NamedByRas(const std::vector<std::string>& before, const std::vector<std::string>& now) {
  std::set<int> named;
  const std::map<std::string, Job> old = Read(before);
  for (const auto& [hash, job] : Read(now)) {
    if (job.begins) continue;
    named.insert(job.gone.begin(), job.gone.end());
    const auto then = old.find(hash);
    if (then == old.end() || then->second.ranks != job.ranks) continue;
    Counts most;
    for (const auto& [rank, counts] : job.ranks) {
      for (const auto& [what, count] : counts) most[what] = std::max(most[what], count);
    }
    for (const auto& [rank, counts] : job.ranks) {
      if (counts != most) named.insert(rank);
    }
  }
  return named;
}

}  // namespace tutti::tests
