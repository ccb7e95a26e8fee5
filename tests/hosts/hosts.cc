// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/hosts/hosts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <regex>
#include <string_view>
#include <thread>

namespace tutti::tests {
namespace {

constexpr const char* kFolder = "/run/netns";
constexpr std::string_view kPrefix = "tutti-";

std::string Joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

// What a command of the system wrote; a failure of it fails the test.
std::string Command(const std::vector<std::string>& words) {
  ChildProcess process(words);
  const int code = process.Wait();
  EXPECT_EQ(code, 0) << Joined(words) << "\n" << process.output();
  return process.output();
}

bool Try(const std::vector<std::string>& words) { return ChildProcess(words).Wait() == 0; }

// Name spaces that several tests make at once may get in each other's way.
void AddNameSpace(const std::string& name) {
  for (int i = 0; i < 5; ++i) {
    if (Try({"ip", "netns", "add", name})) return;
    Try({"ip", "netns", "del", name});
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  Command({"ip", "netns", "add", name});
}

// Moves this process, which has one thread, into a name space, and gives it that one's /sys and a host name of its own: what
// `ip netns exec` does, and the name. An error in words, or nothing.
std::string Enter(const std::string& name_space, const std::string& host) {
  const auto failed = [](const std::string& what) { return fmt::format("{}: {}", what, std::strerror(errno)); };
  const std::string path = fmt::format("{}/{}", kFolder, name_space);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed(path);
  if (setns(fd, CLONE_NEWNET) != 0) return failed("setns");
  close(fd);
  if (unshare(CLONE_NEWNS | CLONE_NEWUTS) != 0) return failed("unshare");
  if (mount("", "/", "none", MS_SLAVE | MS_REC, nullptr) != 0) return failed("mount / as a slave");
  umount2("/sys", MNT_DETACH);
  if (mount(name_space.c_str(), "/sys", "sysfs", 0, nullptr) != 0) return failed("mount /sys");
  if (sethostname(host.c_str(), host.size()) != 0) return failed("sethostname");
  return "";
}

int InHost(const std::string& name_space, const std::string& host, const std::function<int()>& body) {
  const std::string error = Enter(name_space, host);
  if (error.empty()) return body();
  std::fprintf(stderr, "cannot enter %s: %s\n", name_space.c_str(), error.c_str());
  return 125;
}

void ForgetSettings() {
  constexpr std::array<std::string_view, 8> kForgotten = {"NCCL_",  "TUTTI_", "OMPI_",  "PMI",
                                                          "SLURM_", "RANK=",  "LOCAL_", "WORLD_SIZE="};
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    for (const std::string_view start : kForgotten) {
      if (text.starts_with(start)) names.emplace_back(text.substr(0, text.find('=')));
    }
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

}  // namespace

std::string Hosts::WhyNot() {
  if (geteuid() != 0) return "hosts as network name spaces need root";
  for (const auto& [program, package] :
       {std::pair{"ip", "iproute2"}, {"tc", "iproute2"}, {"ss", "iproute2"}, {"nft", "nftables"}}) {
    if (!Try({"sh", "-c", fmt::format("command -v {}", program)})) {
      return fmt::format("there is no `{}` here: install {}", program, package);
    }
  }
  const std::string name = fmt::format("{}{}-probe", kPrefix, getpid());
  ChildProcess add({"ip", "netns", "add", name});
  if (add.Wait() != 0) return "no network name space can be made here: " + add.output();
  std::string error;
  ChildProcess enter([&] { return InHost(name, "probe", [] { return 0; }); });
  if (enter.Wait() != 0) error = "no process can live in a network name space here: " + enter.output();
  ChildProcess bridge({"ip", "-n", name, "link", "add", "br0", "type", "bridge"});
  if (error.empty() && bridge.Wait() != 0) error = "no network switch can be made here: " + bridge.output();
  Try({"ip", "netns", "del", name});
  return error;
}

void SweepHosts() {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder, none)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kPrefix)) continue;
    const pid_t pid = std::atoi(name.c_str() + kPrefix.size());
    if (pid > 0 && kill(pid, 0) != 0 && errno == ESRCH) Try({"ip", "netns", "del", name});
  }
}

Hosts::Hosts(std::vector<std::string> names, int cards) : names_(std::move(names)), cards_(cards), owner_(getpid()) {
  SweepHosts();
  AddNameSpace(Switch());
  for (int card = 0; card < cards_; ++card) {
    Command({"ip", "-n", Switch(), "link", "add", Card(card), "type", "bridge"});
    Command({"ip", "-n", Switch(), "link", "set", Card(card), "up"});
  }
  for (int host = 0; host < static_cast<int>(names_.size()); ++host) {
    AddNameSpace(NameSpace(host));
    Command({"ip", "-n", NameSpace(host), "link", "set", "lo", "up"});
    for (int card = 0; card < cards_; ++card) Connect(host, card);
  }
  for (int host = 0; host < static_cast<int>(names_.size()); ++host) {
    for (int card = 0; card < cards_; ++card) AwaitLink(host, Card(card), Link::kThere);
  }
}

void Hosts::Connect(int host, int card) {
  const std::string name_space = NameSpace(host), port = PortOf(host, card);
  Command({"ip", "-n", Switch(), "link", "add", port, "type", "veth", "peer", "name", Card(card), "netns", name_space});
  Command({"ip", "-n", Switch(), "link", "set", port, "master", Card(card), "up"});
  Command({"ip", "-n", name_space, "addr", "add", Address(host, card) + "/24", "dev", Card(card)});
  Command({"ip", "-n", name_space, "link", "set", Card(card), "up"});
}

Hosts::~Hosts() {
  for (int host = 0; host < static_cast<int>(names_.size()); ++host) Try({"ip", "netns", "del", NameSpace(host)});
  Try({"ip", "netns", "del", Switch()});
}

std::string Hosts::NameSpace(int host) const {
  return fmt::format("{}{}-{}", kPrefix, owner_, names_.at(static_cast<std::size_t>(host)));
}
std::string Hosts::Switch() const { return fmt::format("{}{}-switch", kPrefix, owner_); }
std::string Hosts::Card(int card) { return fmt::format("eth{}", card); }
std::string Hosts::Address(int host, int card) { return fmt::format("10.77.{}.{}", card, host + 1); }
std::string Hosts::PortOf(int host, int card) const {
  return fmt::format("{}-{}", names_.at(static_cast<std::size_t>(host)), Card(card));
}

ChildProcess Hosts::Start(int host, const std::vector<std::string>& words,
                          const std::vector<std::string>& environment) {
  return Start(host, [&] {
    ForgetSettings();
    return Exec(words, environment);
  });
}

ChildProcess Hosts::Start(int host, const std::function<int()>& body) {
  return ChildProcess([&] { return InHost(NameSpace(host), names_[static_cast<std::size_t>(host)], body); });
}

std::string Hosts::Run(int host, const std::vector<std::string>& words) {
  ChildProcess process = Start(host, words);
  const int code = process.Wait();
  EXPECT_EQ(code, 0) << Joined(words) << "\n" << process.output();
  return process.output();
}

void Hosts::AwaitLink(int host, const std::string& interface, Link link) {
  std::string said;
  const auto is_there = [&] {
    said = Command({"ip", "-n", NameSpace(host), "-br", "link", "show", interface});
    return said.find(" UP ") != said.npos;
  };
  EXPECT_TRUE(WaitUntil([&] { return is_there() == (link == Link::kThere); })) << NameSpace(host) << ": " << said;
}

void Hosts::LinkDown(int host, int card) {
  Command({"ip", "-n", NameSpace(host), "link", "set", Card(card), "down"});
  AwaitLink(host, Card(card), Link::kNone);
}
void Hosts::LinkUp(int host, int card) {
  Command({"ip", "-n", NameSpace(host), "link", "set", Card(card), "up"});
  AwaitLink(host, Card(card), Link::kThere);
}
void Hosts::Unplug(int host, int card) {
  Command({"ip", "-n", Switch(), "link", "set", PortOf(host, card), "down"});
  AwaitLink(host, Card(card), Link::kNone);
}
void Hosts::Plug(int host, int card) {
  Command({"ip", "-n", Switch(), "link", "set", PortOf(host, card), "up"});
  AwaitLink(host, Card(card), Link::kThere);
}
void Hosts::RemoveCard(int host, int card) { Command({"ip", "-n", NameSpace(host), "link", "del", Card(card)}); }

void Hosts::Slow(int host, const std::string& rate, int card) {
  Command({"tc", "-n", NameSpace(host), "qdisc", "replace", "dev", Card(card), "root", "tbf", "rate", rate, "burst",
           "64kb", "latency", "400ms"});
}

void Hosts::SetMtu(int host, int bytes, int card) {
  Command({"ip", "-n", NameSpace(host), "link", "set", Card(card), "mtu", std::to_string(bytes)});
  Command({"ip", "-n", Switch(), "link", "set", PortOf(host, card), "mtu", std::to_string(bytes)});
}

// Only packets that the kernel has cut itself are held to that.
void Hosts::LoseLarger(int host, int bytes, int card) {
  Command({"ip", "-n", NameSpace(host), "link", "set", "dev", Card(card), "gso_max_segs", "1"});
  Command({"ip", "-n", Switch(), "link", "set", PortOf(host, card), "mtu", std::to_string(bytes)});
}

void Hosts::Drop(int host, const std::string& what) {
  Run(host, {"nft", "add table inet test; add chain inet test in { type filter hook input priority 0; }"});
  Run(host, {"nft", fmt::format("add rule inet test in {} drop", what)});
}
std::vector<Hosts::Connection> Hosts::Connections(int host) {
  // A line for the connection, and one with its counters.
  static const std::regex one(
      R"((\d+\.\d+\.\d+\.\d+:\d+)\s+(\d+\.\d+\.\d+\.\d+:\d+)\s+users:\(\([^)]*pid=(\d+)[^\n]*\n[^\n]*?(?:bytes_sent:(\d+)[^\n]*)?\n)");
  const std::string text = Run(host, {"ss", "-Htnpi", "state", "established"});
  std::vector<Connection> all;
  for (std::sregex_iterator i(text.begin(), text.end(), one), end; i != end; ++i) {
    const std::smatch& found = *i;
    all.push_back({.own = found[1],
                   .peer = found[2],
                   .pid = std::stoi(found[3]),
                   .sent = found[4].matched ? std::stoull(found[4]) : 0});
  }
  return all;
}

void Hosts::Block(int host, const Connection& connection) {
  const auto cut = [](const std::string& endpoint) {
    const std::size_t colon = endpoint.rfind(':');
    return std::pair(endpoint.substr(0, colon), endpoint.substr(colon + 1));
  };
  const auto [from, from_port] = cut(connection.own);
  const auto [to, to_port] = cut(connection.peer);
  Drop(host, fmt::format("ip saddr {} ip daddr {} tcp sport {} tcp dport {}", from, to, from_port, to_port));
}

void Hosts::BlockPort(int host, int port) { Drop(host, fmt::format("tcp dport {}", port)); }
void Hosts::BlockCard(int host, int card) { Drop(host, "iifname " + Card(card)); }
void Hosts::BlockAll(int host) { Drop(host, "iifname != lo"); }
void Hosts::Unblock(int host) { Run(host, {"nft", "delete table inet test"}); }

}  // namespace tutti::tests
