// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/rendezvous.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <span>
#include <utility>

#include "comm/meet/rank_list.h"
#include "comm/meet/rendezvous_message.h"
#include "comm/meet/rendezvous_terms.h"
#include "sys/log/thread_name.h"
#include "sys/net/proven_connection.h"
#include "sys/net/unix_socket.h"
#include "sys/os/clock.h"
#include "sys/os/thread.h"

namespace tutti::comm {
namespace {

// How long one try to connect lasts, and how often the thread looks whether it shall end.
constexpr std::int64_t kTryNs = sys::kNsPerSecond, kLookNs = 200 * sys::kNsPerMs;
constexpr std::int64_t kFarewellNs = 300 * sys::kNsPerMs;
constexpr std::int64_t kSilentNs = 2 * sys::kNsPerSecond;  // something comes twice a second
constexpr std::byte kNews{1};

// "10.0.0.1:500", and "or up to port 507" where that is one of several.
std::string Where(const IdParts& id) {
  std::string where = sys::ListEndpoints(id.addresses);
  if (id.ports > 1) where += fmt::format(" or up to port {}", id.addresses.front().port + id.ports - 1);
  return where;
}

// "east (ranks 0 and 1), west (rank 2)"; empty where there is none.
std::string Listed(const Known& known) {
  std::string hosts;
  for (const Known::Host& host : known.hosts) {
    const std::vector<int> ranks(host.ranks.begin(), host.ranks.end());
    hosts += fmt::format("{}{} ({})", hosts.empty() ? "" : ", ", host.name,
                         ranks.empty() ? "no rank yet" : NamedRanks(ranks));
  }
  return hosts;
}

const char* NameOfListener(const IdParts& id) {
  return id.listener == IdListener::kMaker ? "the process that made the id" : "the process of rank 0";
}

// Where each host has computed the id, that one has computed another is a likely reason why it does not get through.
const char* HintAtSecrets(const IdParts& id) {
  if (id.kind == IdKind::kRandom) return "";
  return ". Likely cause, unless rank 0 is still to come: the hosts have different secrets of this user, and so "
         "another id or "
         "port; set TUTTI_SECRET to one text on all, or copy ~/.cache/tutti/secret";
}

}  // namespace

// The thread's and the caller's. The thread writes a byte into `told` where there is news, the caller one into `ask` where there
// is something to send.
struct Rendezvous::Shared {
  explicit Shared(Options options) : options(std::move(options)) {}

  const Options options;
  sys::SocketPair news;   // a: the caller's end
  sys::SocketPair tasks;  // b: the thread's end
  std::atomic<bool> left{false};

  mutable std::mutex mutex;
  // Guarded by it:
  std::vector<sys::NetMessage> outgoing;  // all of it, since another connection begins with the first
  std::size_t sent = 0;                   // of them, over this connection
  Stage stage = Stage::kGathering;
  Status fault;
  Status unreachable;                    // why there is no connection yet
  std::int64_t heard_ns = sys::NowNs();  // when something last came, or this began
  comm::Known known;                     // who has come
  comm::Known awaited;                   // after kAll
  std::vector<RemoteMember> members;
  All all;

  void Run();
  Status Talk(sys::FramedConnection& connection);
  Status SendAll(sys::FramedConnection& connection);
  Status Take(const sys::NetMessage& message);
  void Tell() const { (void)sys::SendMessage(news.b, std::span(&kNews, 1)).ok(); }
  void Post(sys::NetMessage message) {
    {
      std::lock_guard lock(mutex);
      outgoing.push_back(std::move(message));
    }
    (void)sys::SendMessage(tasks.a, std::span(&kNews, 1)).ok();
  }
};

Result<std::unique_ptr<Rendezvous>> Rendezvous::Begin(Options options) {
  auto shared = std::make_shared<Shared>(std::move(options));
  for (sys::SocketPair* pair : {&shared->news, &shared->tasks}) {
    Result<sys::SocketPair> made = sys::MakeSocketPair(sys::SocketKind::kPacket);
    if (!made.ok()) return made.status();
    *pair = std::move(*made);
  }
  const Options& o = shared->options;
  shared->outgoing.push_back(Encode(Join{.ranks = o.ranks, .host = CleanHostName(o.host)}));
  const Status started = sys::StartDetachedThread("the meeting of hosts", [shared] {
    sys::SetThreadName("tutti-meet");
    shared->Run();
  });
  if (!started.ok()) return started;
  return std::unique_ptr<Rendezvous>(new Rendezvous(std::move(shared)));
}

Rendezvous::~Rendezvous() {
  shared_->left = true;
  (void)sys::SendMessage(shared_->tasks.a, std::span(&kNews, 1)).ok();
}

void Rendezvous::Arrived(int rank, sys::ProcessId process, std::uint32_t uid, std::span<const std::byte> payload) {
  const Arrival arrival{
      .rank = rank, .pid = process.pid, .start_ticks = process.start_ticks, .uid = uid, .payload = payload};
  shared_->Post(Encode(RendezvousKind::kArrivals, std::span(&arrival, 1)));
}

void Rendezvous::Ready() { shared_->Post(EncodeBare(RendezvousKind::kReady)); }

void Rendezvous::Fail(const Status& fault) { shared_->Post(Encode(fault)); }

const sys::Fd& Rendezvous::fd() const { return shared_->news.a; }

Result<Rendezvous::Stage> Rendezvous::Look() {
  std::byte byte;
  while (sys::ReceiveMessage(shared_->news.a, std::span(&byte, 1)).ok()) {
  }
  std::lock_guard lock(shared_->mutex);
  if (!shared_->fault.ok()) return shared_->fault;
  return shared_->stage;
}

const std::vector<RemoteMember>& Rendezvous::members() const { return shared_->members; }
const std::vector<std::string>& Rendezvous::hosts() const { return shared_->all.hosts; }
int Rendezvous::own_host() const { return shared_->all.own; }

std::vector<int> Rendezvous::Known() const {
  std::lock_guard lock(shared_->mutex);
  std::vector<int> ranks;
  for (const comm::Known::Host& host : shared_->known.hosts) {
    ranks.insert(ranks.end(), host.ranks.begin(), host.ranks.end());
  }
  return ranks;
}

std::int64_t Rendezvous::SilentNs() const {
  std::lock_guard lock(shared_->mutex);
  return sys::NowNs() - shared_->heard_ns;
}

std::string Rendezvous::Place() const {
  return fmt::format("{} of {}", Where(shared_->options.id), NameOfListener(shared_->options.id));
}

std::string Rendezvous::DescribeAwaited() const {
  const std::string where = Where(shared_->options.id);
  std::lock_guard lock(shared_->mutex);
  const std::string hosts = Listed(shared_->awaited);
  return hosts.empty() ? fmt::format("nothing came any more from where hosts meet, {}", where)
                       : fmt::format("these have not answered since: {}", hosts);
}

std::string Rendezvous::Describe() const {
  const std::string where = Where(shared_->options.id);
  std::lock_guard lock(shared_->mutex);
  if (!shared_->unreachable.ok()) {
    return fmt::format("other hosts meet at {}, which host {} cannot reach: {}{}", where, shared_->options.host,
                       shared_->unreachable.message(), HintAtSecrets(shared_->options.id));
  }
  const std::string hosts = Listed(shared_->known);
  if (const std::int64_t silent_ns = sys::NowNs() - shared_->heard_ns; silent_ns >= kSilentNs) {
    return fmt::format("from where hosts meet, {}, nothing has come for {} s{}{}", where, silent_ns / sys::kNsPerSecond,
                       hosts.empty() ? "" : "; before that had come: ", hosts);
  }
  return fmt::format("to where hosts meet, {}, have come: {}", where, hosts.empty() ? "none" : hosts);
}

void Rendezvous::Shared::Run() {
  const std::vector<sys::Endpoint> endpoints = options.id.Endpoints();
  sys::ConnectOptions connect{.peer = NameOfListener(options.id), .most_bytes = kMostRendezvousBytes};
  while (!left && sys::NowNs() < options.deadline_ns) {
    Result<sys::ProvenConnection> proven = sys::ConnectProven(endpoints, RendezvousTerms(options.id), connect,
                                                              std::min(options.deadline_ns, sys::NowNs() + kTryNs));
    if (proven.ok()) {
      {
        std::lock_guard lock(mutex);
        unreachable = Status::Ok();
        sent = 0;
      }
      const Status talked = Talk(proven->connection);
      std::lock_guard lock(mutex);
      if (left || !fault.ok() || stage == Stage::kComplete) break;
      if (talked.code() == Code::kRemote && stage == Stage::kGathering) {
        unreachable = talked;  // all ranks may still come to this host
        members.clear();
        continue;
      }
      fault = talked;
      break;
    }
    std::lock_guard lock(mutex);
    unreachable = proven.status();
    if (proven.status().code() != Code::kInvalidUsage) continue;
    fault = proven.status();  // another version
    break;
  }
  Tell();
}

// Until the meeting is over, or the caller leaves.
Status Rendezvous::Shared::Talk(sys::FramedConnection& connection) {
  while (true) {
    TUTTI_RETURN_IF_ERROR(SendAll(connection));
    if (left) return Status::Ok();
    while (true) {
      const Result<sys::NetMessage> message = connection.TryReceive();
      if (message.status().code() == Code::kInProgress) break;
      if (!message.ok()) {
        return Status(Code::kRemote,
                      fmt::format("{}, where hosts meet, is gone before the ranks had met: {}. Its own output should "
                                  "say why",
                                  NameOfListener(options.id), message.status().message()));
      }
      TUTTI_RETURN_IF_ERROR(Take(*message));
      Tell();
    }
    using enum sys::Watched::For;
    sys::Watched watched[] = {{.fd = connection.tcp().socket().get()}, {.fd = tasks.b.get()}};
    if (connection.wants_to_send()) watched[0].what = kReadingAndWriting;
    const Result<int> ready = sys::WaitAny(watched, sys::NowNs() + kLookNs);
    if (!ready.ok()) return ready.status();
    std::byte byte;
    while (sys::ReceiveMessage(tasks.b, std::span(&byte, 1)).ok()) {
    }
  }
}

Status Rendezvous::Shared::SendAll(sys::FramedConnection& connection) {
  {
    std::lock_guard lock(mutex);
    for (; sent < outgoing.size(); ++sent) TUTTI_RETURN_IF_ERROR(connection.Post(outgoing[sent]));
  }
  if (connection.wants_to_send()) {
    const Status flushed = connection.Flush();
    if (!flushed.ok() && flushed.code() != Code::kInProgress) return flushed;
  }
  const std::int64_t until_ns = sys::NowNs() + kFarewellNs;
  while (left && connection.wants_to_send() && sys::NowNs() < until_ns) {
    if (!connection.tcp().WaitWritable(until_ns).ok() || !connection.Flush().ok()) break;
  }
  return Status::Ok();
}

Status Rendezvous::Shared::Take(const sys::NetMessage& message) {
  std::lock_guard lock(mutex);
  heard_ns = sys::NowNs();
  Status failure;
  if (ParseFailure(message, failure).ok()) {
    fault = failure;
    return Status::Ok();
  }
  const Result<RendezvousKind> kind = RendezvousKindOf(message);
  if (!kind.ok()) return kind.status();
  switch (*kind) {
    case RendezvousKind::kKnown: {
      Result<comm::Known> news = ParseKnown(message);
      if (!news.ok()) return news.status();
      (stage == Stage::kGathering ? known : awaited) = std::move(*news);
      return Status::Ok();
    }
    case RendezvousKind::kRemote: {
      const Result<std::vector<Arrival>> arrivals = ParseArrivals(message, RendezvousKind::kRemote);
      if (!arrivals.ok()) return arrivals.status();
      for (const Arrival& a : *arrivals) {
        members.push_back({a.rank, a.host, a.pid, a.uid, {a.payload.begin(), a.payload.end()}});
      }
      return Status::Ok();
    }
    case RendezvousKind::kAll: {
      Result<All> news = ParseAll(message);
      if (!news.ok()) return news.status();
      all = std::move(*news);
      const auto hosts = static_cast<int>(all.hosts.size());
      if (std::ranges::any_of(members,
                              [&](const RemoteMember& m) { return m.host >= hosts || m.rank >= options.ranks; })) {
        return Status(Code::kInternal, "the rendezvous named a host or a rank that does not exist");
      }
      stage = Stage::kAll;
      return Status::Ok();
    }
    case RendezvousKind::kComplete:
      stage = Stage::kComplete;
      return ParseBare(message, RendezvousKind::kComplete);
    default:
      return Status(Code::kInternal, fmt::format("the rendezvous sent message {}", static_cast<int>(*kind)));
  }
}

}  // namespace tutti::comm
