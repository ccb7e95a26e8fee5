// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0

// What TCP alone needs for the bytes of an all_reduce between two ranks: each sends its input and receives the other's at the
// same time, and nothing is added up. No library can be faster over the same flows, so this is the floor of the comparison
// between two hosts. Both ranks poll.
//
//   PEER_RANK        0 or 1
//   PEER_STORE       a folder that is empty at the start and shared by both ranks
//   PEER_INTERFACE   network cards of this host, as "eth0,eth1"; flows use them in turn
//   PEER_FLOWS       how many flows there are (default 1)

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <thread>

#include "peer.h"

namespace {

using peer::Op;

constexpr std::size_t kMostFlows = 16;
// Messages are cut among flows where every flow gets so much. More flows cost more than they bring below.
constexpr std::size_t kLeastShareBytes = 128 << 10;
// A call sends no more than this, so that receiving has its turn.
constexpr std::size_t kMostPerSendBytes = 256 << 10;

[[noreturn]] void Fail(const std::string& what, int error = 0) {
  std::fprintf(stderr, "raw_peer: %s%s%s\n", what.c_str(), error == 0 ? "" : ": ", error == 0 ? "" : strerror(error));
  std::exit(1);
}

std::string Need(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) Fail(std::string(name) + " is not set; bench/peers/run.py starts this program as it should be");
  return value;
}

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

sockaddr_in AddressOf(const std::string& interface) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) Fail("the network cards cannot be listed", errno);
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(all, &freeifaddrs);
  for (const ifaddrs* entry = all; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET || interface != entry->ifa_name) continue;
    sockaddr_in address;
    std::memcpy(&address, entry->ifa_addr, sizeof(address));
    return address;
  }
  Fail("there is no network card " + interface + " with an IPv4 address");
}

class Raw {
 public:
  // Nothing is added up, so there are no values to check.
  static constexpr bool kMovesOnly = true;

  Raw(int*, char***) : rank_(std::atoi(Need("PEER_RANK").c_str())) {
    const char* flows = std::getenv("PEER_FLOWS");
    const int count = flows == nullptr ? 1 : std::atoi(flows);
    if (count < 1 || count > static_cast<int>(kMostFlows)) Fail("PEER_FLOWS must be from 1 to 16");
    flows_.resize(count);
    const std::string path = Need("PEER_STORE") + "/addresses";
    if (rank_ == 0) {
      Accept(path);
    } else {
      Connect(path);
    }
    const int on = 1;
    for (const int flow : flows_) setsockopt(flow, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  }
  ~Raw() {
    for (const int flow : flows_) close(flow);
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;

  std::string Version() const {
    return "raw TCP, " + (flows_.size() == 1 ? "one flow" : std::to_string(flows_.size()) + " flows");
  }
  int rank() const { return rank_; }
  int ranks() const { return 2; }
  bool Supports(Op op) const { return op == Op::kAllReduce; }
  void Barrier() { Max(0); }
  double Max(double value) {
    double other = 0;
    Exchange(&value, &other, sizeof(value));
    return std::max(value, other);
  }

  std::function<void()> Prepare(Op, const float* in, float* out, std::size_t count) {
    return [this, in, out, bytes = count * sizeof(float)] { Exchange(in, out, bytes); };
  }

 private:
  // A flow's part of a message.
  struct Share {
    std::size_t sent = 0;
    std::size_t received = 0;
    std::size_t end = 0;
  };

  // Rank 0 listens on each card, and writes where, one address and port a line.
  void Accept(const std::string& path) {
    std::vector<int> listeners;
    std::ofstream file(path + ".new");
    for (const std::string& interface : SplitAtCommas(Need("PEER_INTERFACE"))) {
      sockaddr_in address = AddressOf(interface);
      socklen_t size = sizeof(address);
      listeners.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      const int listener = listeners.back();
      if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener, kMostFlows) != 0 ||
          getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
        Fail("cannot listen on " + interface, errno);
      }
      file << inet_ntoa(address.sin_addr) << " " << ntohs(address.sin_port) << "\n";
    }
    file.close();
    if (listeners.empty()) Fail("PEER_INTERFACE names no card");
    if (std::rename((path + ".new").c_str(), path.c_str()) != 0) Fail("cannot write " + path, errno);
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      flows_[i] = accept(listeners[i % listeners.size()], nullptr, nullptr);
      if (flows_[i] < 0) Fail("cannot accept a connection", errno);
    }
    for (const int listener : listeners) close(listener);
  }

  void Connect(const std::string& path) {
    std::ifstream file(path);
    for (; !file.is_open(); file.open(path)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::vector<sockaddr_in> addresses;
    std::string text;
    for (int port = 0; file >> text >> port;) {
      sockaddr_in address = {};
      address.sin_family = AF_INET;
      address.sin_port = htons(static_cast<std::uint16_t>(port));
      if (inet_pton(AF_INET, text.c_str(), &address.sin_addr) != 1) Fail(path + " has a bad address: " + text);
      addresses.push_back(address);
    }
    if (addresses.empty()) Fail(path + " is empty");
    for (std::size_t i = 0; i < flows_.size(); ++i) {
      const sockaddr_in& address = addresses[i % addresses.size()];
      flows_[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (connect(flows_[i], reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        Fail(std::string("cannot connect to ") + inet_ntoa(address.sin_addr), errno);
      }
    }
  }

  // Returns when all bytes are sent and as many have come.
  void Exchange(const void* source, void* target, std::size_t bytes) {
    const char* const out = static_cast<const char*>(source);
    char* const in = static_cast<char*>(target);
    const std::size_t flows = std::clamp<std::size_t>(bytes / kLeastShareBytes, 1, flows_.size());
    const std::size_t share_bytes = (bytes + flows - 1) / flows;
    std::array<Share, kMostFlows> shares;
    for (std::size_t i = 0; i < flows; ++i) {
      shares[i].sent = shares[i].received = std::min(bytes, i * share_bytes);
      shares[i].end = std::min(bytes, (i + 1) * share_bytes);
    }
    for (bool open = true; open;) {
      open = false;
      for (std::size_t i = 0; i < flows; ++i) {
        Share& share = shares[i];
        if (const std::size_t left = share.end - share.sent; left > 0) {
          share.sent +=
              Moved(send(flows_[i], out + share.sent, std::min(left, kMostPerSendBytes), MSG_DONTWAIT | MSG_NOSIGNAL));
        }
        if (const std::size_t left = share.end - share.received; left > 0) {
          const ssize_t size = recv(flows_[i], in + share.received, left, MSG_DONTWAIT);
          if (size == 0) Fail("the other rank has ended");
          share.received += Moved(size);
        }
        open |= share.sent < share.end || share.received < share.end;
      }
    }
  }

  // The bytes that a call has moved, which may be none.
  static std::size_t Moved(ssize_t size) {
    if (size >= 0) return static_cast<std::size_t>(size);
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) Fail("the connection failed", errno);
    return 0;
  }

  int rank_;
  std::vector<int> flows_;
};

}  // namespace

int main(int argc, char** argv) { return peer::Main<Raw>(argc, argv); }
