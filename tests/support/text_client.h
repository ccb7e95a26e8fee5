// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_TEXT_CLIENT_H_
#define TUTTI_TESTS_SUPPORT_TEXT_CLIENT_H_

// A client of a service of this host that speaks in lines.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "sys/net/tcp.h"
#include "sys/os/fd.h"
#include "tests/support/child_process.h"

namespace tutti::tests {

// A port of this host that is free.
inline std::uint16_t FreePort() {
  const auto listener = sys::TcpListener::Open({.addresses = {sys::IpAddress::V4(127, 0, 0, 1)}, .ports = {}});
  EXPECT_TRUE(listener.ok());
  return listener->port();
}

// A client, with the system's calls alone. Waits for as long as the test is patient.
class TextClient {
 public:
  explicit TextClient(std::uint16_t port) {
    const bool connected = WaitUntil([&] {
      fd_ = sys::Fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(port);
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      return connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    });
    EXPECT_TRUE(connected);
  }
  TextClient& Send(std::string_view text) {
    // One that was cut off meanwhile is what some tests want.
    while (!text.empty()) {
      const ssize_t sent = send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return *this;
  }
  void EndSending() { shutdown(fd_.get(), SHUT_WR); }
  std::string ReadLine() {
    std::string line;
    char c = 0;
    while (!line.ends_with('\n') && ReadSome(&c, 1) == 1) line += c;
    return line;
  }
  std::string ReadToEnd() {
    std::string all;
    char buffer[4096];
    for (ssize_t n = ReadSome(buffer, sizeof(buffer)); n > 0; n = ReadSome(buffer, sizeof(buffer)))
      all.append(buffer, static_cast<std::size_t>(n));
    return all;
  }
  std::string Ask(std::string_view text) { return Send(text).ReadToEnd(); }

 private:
  // 0 where the connection has ended in whatever way.
  ssize_t ReadSome(char* buffer, std::size_t bytes) {
    pollfd ready{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, static_cast<int>(kPatience.count())) != 1) {
      ADD_FAILURE() << "neither an answer nor an end";
      return 0;
    }
    return std::max<ssize_t>(recv(fd_.get(), buffer, bytes, 0), 0);
  }

  sys::Fd fd_;
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_TEXT_CLIENT_H_
