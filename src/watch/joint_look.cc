// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/joint_look.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "watch/far_report.h"
#include "watch/joiner.h"

namespace tutti::watch {
namespace {

constexpr std::uint8_t kForm = 1;
constexpr std::size_t kMostName = 255;
constexpr std::size_t kMostHosts = 1u << 16;
constexpr const char* kWhat = "this is no joint look";

void WriteName(ByteWriter& out, const std::string& name) {
  const std::size_t bytes = std::min(name.size(), kMostName);
  out.Number(static_cast<std::uint8_t>(bytes));
  out.Bytes(std::as_bytes(std::span(name).first(bytes)));
}

std::string ReadName(ByteReader& in) {
  const std::span<const std::byte> name = in.Bytes(in.Number<std::uint8_t>());
  return std::string(reinterpret_cast<const char*>(name.data()), name.size());
}

// How names of hosts stand for each other: the place in the list of those that the look knows, else one that is added to it.
std::uint32_t PlaceOf(std::vector<diag::HostLook>& hosts, const std::string& name) {
  const auto known = std::ranges::find(hosts, name, &diag::HostLook::name);
  const auto place = static_cast<std::uint32_t>(known - hosts.begin());
  if (known == hosts.end()) hosts.push_back({.name = name});
  return place;
}

}  // namespace

std::vector<std::byte> Encode(const JointLook& joint) {
  std::vector<diag::HostLook> hosts = joint.look.hosts;
  std::vector<std::uint32_t> host_of;
  for (const diag::ProcessLook& process : joint.look.processes) host_of.push_back(PlaceOf(hosts, process.host));
  ByteWriter out;
  out.Number(kForm);
  out.Number(joint.machine);
  out.Number(static_cast<std::uint32_t>(hosts.size()));
  for (const diag::HostLook& host : hosts) {
    WriteName(out, host.name);
    out.Number(host.silent_ns);
  }
  out.Number(static_cast<std::uint32_t>(host_of.size()));
  for (const std::uint32_t host : host_of) out.Number(host);
  out.Bytes(Encode(Report{.look = joint.look}));
  std::vector<std::byte> message = out.Take();
  if (message.size() > kMostReportBytes || hosts.size() > kMostHosts) message.clear();
  return message;
}

Result<JointLook> ParseJointLook(std::span<const std::byte> message) {
  ByteReader in(message);
  in.Require(in.Number<std::uint8_t>() == kForm);
  JointLook joint{.machine = in.Number<std::uint64_t>()};
  std::vector<diag::HostLook> hosts;
  const auto names = in.Number<std::uint32_t>();
  in.Require(names <= kMostHosts);
  for (std::uint32_t i = 0; i < names && in.good(); ++i) {
    diag::HostLook& host = hosts.emplace_back();
    host.name = ReadName(in);
    host.silent_ns = in.Number<std::int64_t>();
    in.Require(host.silent_ns >= 0);
  }
  std::vector<std::uint32_t> host_of;
  const auto processes = in.Number<std::uint32_t>();
  for (std::uint32_t i = 0; i < processes && in.good(); ++i) {
    host_of.push_back(in.Number<std::uint32_t>());
    in.Require(host_of.back() < hosts.size());
  }
  const std::span<const std::byte> rest = in.Rest();
  if (!in.good()) return Status(Code::kInvalidArgument, kWhat);
  Result<Report> report = ParseReport(rest);
  if (!report.ok()) return report.status();
  joint.look = std::move(report->look);
  if (joint.look.processes.size() != host_of.size()) return Status(Code::kInvalidArgument, kWhat);
  for (std::size_t i = 0; i < host_of.size(); ++i) joint.look.processes[i].host = hosts[host_of[i]].name;
  joint.look.hosts = std::move(hosts);
  return joint;
}

void AddJointLook(diag::Look& own, const JointLook& told) {
  for (const diag::CommunicatorLook& theirs : told.look.communicators) {
    const diag::CommunicatorLook* const mine = own.Find(theirs.id);
    if (mine == nullptr) continue;
    for (const diag::RankLook& rank : theirs.seen) {
      const diag::RankLook* const same = mine->Find(rank.rank);
      if (same == nullptr || same->process < 0 || rank.process < 0) continue;
      diag::ProcessLook& process = own.processes[static_cast<std::size_t>(same->process)];
      const diag::ProcessLook& as_told = told.look.processes[static_cast<std::size_t>(rank.process)];
      if (process.pid == as_told.pid) process.host = as_told.host;
    }
  }
  Joiner joiner(own);
  joiner.Add(told.look);
  for (const diag::HostLook& host : told.look.hosts) joiner.AddHost(host.name, host.silent_ns);
  joiner.Finish();
}

}  // namespace tutti::watch
