// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor_paths.h"

#include <fmt/format.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "sys/os/clock.h"

namespace tutti::tools {
namespace {

constexpr std::size_t kSmall = 128;       // bytes of a packet that every path carries
constexpr std::size_t kMostOfIp = 65535;  // a packet of IP is not larger, as a loopback interface claims
constexpr int kTries = 3;
constexpr std::int64_t kAnswerNs = 100 * sys::kNsPerMs;
constexpr std::size_t kIpv4 = 20, kIpv6 = 40, kUdp = 8, kIcmp = 8;
constexpr std::uint64_t kMagic = 0x7475747469646f63;  // who answers what else comes would be abused

struct Question {
  std::uint64_t magic = kMagic;
  std::uint64_t number = 0;
};

Status Failed(const char* what) {
  return Status(errno == EACCES || errno == EPERM || errno == EPROTONOSUPPORT ? Code::kUnsupported : Code::kSystem,
                fmt::format("{}: {}", what, std::generic_category().message(errno)));
}

// Nobody may cut its packets, and what the system has learned of the path does not count: full packets are really sent.
bool ForbidCutting(int socket, sys::IpFamily family) {
  const int probe = family == sys::IpFamily::kV4 ? IP_PMTUDISC_PROBE : IPV6_PMTUDISC_PROBE;
  return family == sys::IpFamily::kV4 ? setsockopt(socket, IPPROTO_IP, IP_MTU_DISCOVER, &probe, sizeof(probe)) == 0
                                      : setsockopt(socket, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &probe, sizeof(probe)) == 0;
}

// Whether a datagram comes before the deadline.
bool WaitFor(int socket, std::int64_t deadline_ns) {
  const std::int64_t left_ms = std::max<std::int64_t>((deadline_ns - sys::NowNs()) / sys::kNsPerMs, 0);
  pollfd wanted{.fd = socket, .events = POLLIN, .revents = 0};
  return poll(&wanted, 1, static_cast<int>(left_ms)) > 0;
}

// A connected socket whose answers repeat the number of the question.
class SocketProber : public Prober {
 public:
  SocketProber(sys::Fd socket, sys::IpFamily family, std::size_t header)
      : socket_(std::move(socket)), family_(family), header_((family == sys::IpFamily::kV4 ? kIpv4 : kIpv6) + header) {}

  std::size_t largest() const override {
    int mtu = 0;
    socklen_t size = sizeof(mtu);
    const bool v4 = family_ == sys::IpFamily::kV4;
    if (getsockopt(socket_.get(), v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_MTU : IPV6_MTU, &mtu, &size) != 0) return 0;
    return std::min(static_cast<std::size_t>(mtu), kMostOfIp);
  }

  bool Arrives(std::size_t bytes) override {
    for (int i = 0; i < kTries; ++i) {
      const std::uint64_t number = ++last_;
      std::vector<std::byte> packet = Ask(number, std::max(bytes, header_ + sizeof(Question)) - header_);
      if (send(socket_.get(), packet.data(), packet.size(), MSG_NOSIGNAL) < 0) {
        if (errno == EMSGSIZE) return false;
        // An error of an earlier packet, as "connection refused", is told by the next call.
        if (send(socket_.get(), packet.data(), packet.size(), MSG_NOSIGNAL) < 0) return false;
      }
      const std::int64_t deadline_ns = sys::NowNs() + kAnswerNs;
      while (WaitFor(socket_.get(), deadline_ns)) {
        std::array<std::byte, 2048> answer;
        const ssize_t n = recv(socket_.get(), answer.data(), answer.size(), MSG_DONTWAIT | MSG_TRUNC);
        if (n > 0 &&
            Answers(std::span(answer).first(std::min<std::size_t>(static_cast<std::size_t>(n), answer.size())), number))
          return true;
        if (n < 0 && errno != EAGAIN && errno != ECONNREFUSED && errno != EMSGSIZE) return false;
      }
    }
    return false;
  }

 protected:
  // What is sent behind the headers of IP and the protocol that the system writes.
  virtual std::vector<std::byte> Ask(std::uint64_t number, std::size_t bytes) const = 0;
  virtual bool Answers(std::span<const std::byte> answer, std::uint64_t number) const = 0;

 private:
  sys::Fd socket_;
  sys::IpFamily family_;
  std::size_t header_;
  std::uint64_t last_ = 0;
};

std::vector<std::byte> QuestionOf(std::uint64_t number, std::size_t bytes) {
  std::vector<std::byte> packet(bytes);
  const Question question{.number = number};
  std::memcpy(packet.data(), &question, sizeof(question));
  return packet;
}

bool IsAnswer(std::span<const std::byte> answer, std::uint64_t number) {
  Question question;
  if (answer.size() < sizeof(question)) return false;
  std::memcpy(&question, answer.data(), sizeof(question));
  return question.magic == kMagic && question.number == number;
}

class UdpProber final : public SocketProber {
 public:
  UdpProber(sys::Fd socket, sys::IpFamily family) : SocketProber(std::move(socket), family, kUdp) {}

 private:
  std::vector<std::byte> Ask(std::uint64_t number, std::size_t bytes) const override {
    return QuestionOf(number, bytes);
  }
  bool Answers(std::span<const std::byte> answer, std::uint64_t number) const override {
    return IsAnswer(answer, number);
  }
};

std::uint16_t Checksum(std::span<const std::byte> bytes) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) sum += static_cast<std::uint32_t>(bytes[i]) << (i % 2 == 0 ? 8 : 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return htons(static_cast<std::uint16_t>(~sum));
}

// The headers of IPv4 and IPv6 echoes are alike: type, code, checksum, identifier, sequence number. A socket for echoes has the system
// write the identifier; of a raw one the answers begin with the header of IPv4.
class EchoProber final : public SocketProber {
 public:
  EchoProber(sys::Fd socket, sys::IpFamily family, bool raw)
      : SocketProber(std::move(socket), family, 0), family_(family), raw_(raw) {}

 private:
  std::vector<std::byte> Ask(std::uint64_t number, std::size_t bytes) const override {
    std::vector<std::byte> packet(kIcmp);
    packet[0] = static_cast<std::byte>(family_ == sys::IpFamily::kV4 ? ICMP_ECHO : ICMP6_ECHO_REQUEST);
    packet[4] = static_cast<std::byte>(kMagic >> 8 & 0xff);
    packet[7] = static_cast<std::byte>(number);
    const std::vector<std::byte> question = QuestionOf(number, std::max(bytes, kIcmp + sizeof(Question)) - kIcmp);
    packet.insert(packet.end(), question.begin(), question.end());
    if (family_ == sys::IpFamily::kV4) {
      const std::uint16_t sum = Checksum(packet);
      std::memcpy(&packet[2], &sum, sizeof(sum));
    }
    return packet;
  }
  bool Answers(std::span<const std::byte> answer, std::uint64_t number) const override {
    if (raw_ && family_ == sys::IpFamily::kV4) {
      const std::size_t header = answer.empty() ? 0 : (static_cast<std::size_t>(answer[0]) & 0xf) * 4;
      answer = answer.subspan(std::min(header, answer.size()));
    }
    const auto reply = static_cast<std::byte>(family_ == sys::IpFamily::kV4 ? ICMP_ECHOREPLY : ICMP6_ECHO_REPLY);
    return answer.size() > kIcmp && answer[0] == reply && IsAnswer(answer.subspan(kIcmp), number);
  }

  sys::IpFamily family_;
  bool raw_;
};

Status Connect(int socket, const sys::Endpoint& to) {
  sockaddr_storage address{};
  const std::size_t size = to.ToSockaddr(address);
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size)) != 0) {
    return Failed("no packet can be sent there");
  }
  return Status::Ok();
}

doctor::Finding Judge(doctor::Severity severity, const std::string& peer, std::string what, std::string evidence,
                      std::string remedy = "") {
  return {.severity = severity,
          .check = "path",
          .what = fmt::format("{}: {}", peer, what),
          .evidence = std::move(evidence),
          .remedy = std::move(remedy)};
}

// The largest packet that arrives, to 16 bytes. REQUIRES: `fits` does, `lost` does not.
std::size_t LargestThatArrives(Prober& prober, std::size_t fits, std::size_t lost) {
  for (const std::size_t usual : {std::size_t{1500}, std::size_t{1400}}) {
    if (usual > fits && usual < lost) (prober.Arrives(usual) ? fits : lost) = usual;
  }
  while (lost - fits > 16) {
    const std::size_t middle = (fits + lost) / 2;
    (prober.Arrives(middle) ? fits : lost) = middle;
  }
  return fits;
}

}  // namespace

doctor::Finding ExaminePath(const std::string& peer, Prober& prober) {
  const std::size_t full = prober.largest();
  if (full == 0) return Judge(doctor::Severity::kUnknown, peer, "the system does not say how large packets may be", "");
  if (!prober.Arrives(kSmall)) {
    return Judge(doctor::Severity::kUnknown, peer, "no packet is answered, so the path is not known",
                 fmt::format("{} packets of {} bytes", kTries, kSmall),
                 "the host may be down, or a firewall may drop such packets");
  }
  if (prober.Arrives(full)) {
    return Judge(doctor::Severity::kOk, peer, "full packets arrive", fmt::format("{} bytes", full));
  }
  const std::size_t largest = LargestThatArrives(prober, kSmall, full);
  const std::size_t learned = prober.largest();
  const std::string evidence = fmt::format("{} bytes are lost, {} arrive", full, largest);
  if (learned < full) {
    return Judge(doctor::Severity::kWarn, peer, "the path carries smaller packets than the card sends",
                 fmt::format("{}; a router says {}", evidence, learned),
                 "give the card the path's MTU, or raise that of switches and routers between");
  }
  return Judge(doctor::Severity::kCritical, peer,
               "full packets are lost and nobody says so, so large messages will hang", evidence,
               "give the card the path's MTU (`ip link set dev CARD mtu N`), or raise that of switches between");
}

Result<std::unique_ptr<Prober>> ProbeByEcho(const sys::IpAddress& peer) {
  const bool v4 = peer.family() == sys::IpFamily::kV4;
  const int family = v4 ? AF_INET : AF_INET6,
            protocol = v4 ? static_cast<int>(IPPROTO_ICMP) : static_cast<int>(IPPROTO_ICMPV6);
  bool raw = false;
  sys::Fd socket(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, protocol));
  if (!socket.valid()) {
    raw = true;
    socket = sys::Fd(::socket(family, SOCK_RAW | SOCK_CLOEXEC, protocol));
  }
  if (!socket.valid()) return Failed("this user may not send echoes (net.ipv4.ping_group_range)");
  if (!ForbidCutting(socket.get(), peer.family())) return Failed("packets cannot be kept whole");
  TUTTI_RETURN_IF_ERROR(Connect(socket.get(), {.address = peer, .port = 0}));
  return std::unique_ptr<Prober>(std::make_unique<EchoProber>(std::move(socket), peer.family(), raw));
}

Result<std::unique_ptr<Prober>> ProbeByUdp(const sys::Endpoint& answerer) {
  const sys::IpFamily family = answerer.address.family();
  sys::Fd socket(::socket(family == sys::IpFamily::kV4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return Failed("no socket for UDP");
  if (!ForbidCutting(socket.get(), family)) return Failed("packets cannot be kept whole");
  TUTTI_RETURN_IF_ERROR(Connect(socket.get(), answerer));
  return std::unique_ptr<Prober>(std::make_unique<UdpProber>(std::move(socket), family));
}

UdpAnswerer::UdpAnswerer(sys::Fd socket, sys::Fd bell, std::uint16_t port)
    : socket_(std::move(socket)), bell_(std::move(bell)), port_(port), thread_([this] { Answer(); }) {}

UdpAnswerer::~UdpAnswerer() {
  const std::uint64_t one = 1;
  (void)!write(bell_.get(), &one, sizeof(one));
  thread_.join();
}

Result<std::unique_ptr<UdpAnswerer>> UdpAnswerer::Start() {
  // One socket for both families.
  sys::Fd socket(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const int off = 0;
  sockaddr_storage address{};
  std::size_t size = 0;
  if (socket.valid()) {
    (void)setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    size = sys::Endpoint{.address = sys::IpAddress::Any(sys::IpFamily::kV6), .port = 0}.ToSockaddr(address);
  } else {
    socket = sys::Fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    size = sys::Endpoint{.address = sys::IpAddress::Any(sys::IpFamily::kV4), .port = 0}.ToSockaddr(address);
  }
  if (!socket.valid()) return Failed("no socket for UDP");
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size)) != 0) {
    return Failed("no port for UDP");
  }
  socklen_t length = sizeof(address);
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) return Failed("no port for UDP");
  const Result<sys::Endpoint> own = sys::Endpoint::FromSockaddr(reinterpret_cast<const sockaddr*>(&address), length);
  if (!own.ok()) return own.status();
  sys::Fd bell(eventfd(0, EFD_CLOEXEC));
  if (!bell.valid()) return Failed("no event descriptor");
  return std::unique_ptr<UdpAnswerer>(new UdpAnswerer(std::move(socket), std::move(bell), own->port));
}

void UdpAnswerer::Answer() {
  std::vector<std::byte> packet(kMostOfIp);
  while (true) {
    std::array<pollfd, 2> wanted = {pollfd{.fd = socket_.get(), .events = POLLIN, .revents = 0},
                                    pollfd{.fd = bell_.get(), .events = POLLIN, .revents = 0}};
    if (poll(wanted.data(), wanted.size(), -1) < 0 && errno != EINTR) return;
    if (wanted[1].revents != 0) return;
    if (wanted[0].revents == 0) continue;
    sockaddr_storage from{};
    socklen_t length = sizeof(from);
    const ssize_t n = recvfrom(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT,
                               reinterpret_cast<sockaddr*>(&from), &length);
    Question question;
    if (n < static_cast<ssize_t>(sizeof(question))) continue;
    std::memcpy(&question, packet.data(), sizeof(question));
    if (question.magic != kMagic) continue;
    // Small, whatever came: only the way here is examined.
    (void)!sendto(socket_.get(), &question, sizeof(question), MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&from),
                  length);
  }
}

}  // namespace tutti::tools
