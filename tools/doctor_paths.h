// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TOOLS_DOCTOR_PATHS_H_
#define TUTTI_TOOLS_DOCTOR_PATHS_H_

// Whether packets as large as a card's arrive at another host, by packets that nobody may cut to pieces (DF).

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "doctor/finding.h"
#include "sys/net/address.h"
#include "sys/os/fd.h"
#include "tutti/status.h"

namespace tutti::tools {

// Sends packets of a size to one host and learns whether they have arrived.
class Prober {
 public:
  virtual ~Prober() = default;
  // The size of the largest packet that the card sends which leads there, headers of IP included; 0: not known.
  virtual std::size_t largest() const = 0;
  // Whether one of a few packets of this size, headers of IP included, has arrived. Takes some tenths of a second where none does.
  virtual bool Arrives(std::size_t bytes) = 0;
};

// What the path is like: a small packet, a full one, and where that is lost, sizes between. `peer`: its name.
doctor::Finding ExaminePath(const std::string& peer, Prober& prober);

// By ICMP echo, which any host answers that a firewall lets. kUnsupported where this process may not send them.
Result<std::unique_ptr<Prober>> ProbeByEcho(const sys::IpAddress& peer);

// Answers packets of ProbeByUdp as long as it lives, in a thread of its own.
class UdpAnswerer {
 public:
  static Result<std::unique_ptr<UdpAnswerer>> Start();
  ~UdpAnswerer();
  std::uint16_t port() const { return port_; }

 private:
  UdpAnswerer(sys::Fd socket, sys::Fd bell, std::uint16_t port);
  void Answer();

  sys::Fd socket_, bell_;
  std::uint16_t port_;
  std::thread thread_;
};
Result<std::unique_ptr<Prober>> ProbeByUdp(const sys::Endpoint& answerer);

}  // namespace tutti::tools

#endif  // TUTTI_TOOLS_DOCTOR_PATHS_H_
