// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/rendezvous_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "comm/meet/rank_list.h"
#include "comm/meet/rendezvous_terms.h"
#include "sys/log/thread_name.h"
#include "sys/os/clock.h"
#include "sys/os/process.h"
#include "sys/os/thread.h"

namespace tutti::comm {
namespace {

constexpr std::int64_t kIdleNs = 200 * sys::kNsPerMs;   // how often the thread looks whether it shall stop
constexpr std::int64_t kKnownNs = 300 * sys::kNsPerMs;  // how often hosts are told who has come, or who is awaited
constexpr std::int64_t kAgainNs =
    500 * sys::kNsPerMs;  // until they are told again, so that they know of a place that answers
constexpr std::size_t kMostUnsentBytes = 64u << 20;  // a leader that takes nothing for so long is given up
constexpr std::size_t kRemoteBytes = 60u << 10;      // of a message of ranks

}  // namespace

struct RendezvousServer::Host {
  struct Member {
    Arrival arrival;
    std::vector<std::byte> payload;
  };
  sys::FramedConnection connection;
  std::uint64_t token = 0;
  sys::HelloId id{};
  Job* job = nullptr;  // null before it has joined, and once its meeting is over
  bool over = false;   // it is over
  std::string said;    // its name as it says
  std::string name;    // no other host's of the job
  int ranks = 0;
  std::map<int, Member> members;
  bool ready = false;
  Status unreachable;  // why nothing more can be sent to it
  bool gone = false;   // to be forgotten

  std::vector<int> Ranks() const {
    std::vector<int> list;
    for (const auto& [rank, member] : members) list.push_back(rank);
    return list;
  }
  std::string Describe() const {
    return members.empty() ? fmt::format("host {}", name) : fmt::format("host {} ({})", name, NamedRanks(Ranks()));
  }
};

struct RendezvousServer::Job {
  std::vector<Host*> hosts;  // that have joined
  std::size_t members = 0;
  bool told_all = false;
  bool changed = false;  // since hosts were told who has come, or who is awaited
  std::int64_t told_ns = 0;

  // The last word on a meeting may be the last that this process says: its own ranks may end it as soon as they hear it.
  void PutOwnHostLast() {
    const sys::ProcessId self = sys::Self();
    std::stable_partition(hosts.begin(), hosts.end(), [&](const Host* host) {
      return std::ranges::none_of(host->members, [&](const auto& member) {
        const Arrival& arrival = member.second.arrival;
        return sys::ProcessId{.pid = arrival.pid, .start_ticks = arrival.start_ticks} == self;
      });
    });
  }
};

Result<std::unique_ptr<RendezvousServer>> RendezvousServer::Open(sys::TcpListener listener) {
  Result<std::unique_ptr<sys::Acceptor>> acceptor =
      sys::Acceptor::Make(std::move(listener), {.most_bytes = kMostRendezvousBytes});
  if (!acceptor.ok()) return acceptor.status();
  Result<sys::PollSet> set = sys::PollSet::Make();
  if (!set.ok()) return set.status();
  TUTTI_RETURN_IF_ERROR(set->Add((*acceptor)->fd(), 0, sys::PollSet::For::kReading));
  std::unique_ptr<RendezvousServer> server(new RendezvousServer(std::move(*acceptor), std::move(*set)));
  TUTTI_RETURN_IF_ERROR(server->Start());
  return server;
}

RendezvousServer::RendezvousServer(std::unique_ptr<sys::Acceptor> acceptor, sys::PollSet set)
    : acceptor_(std::move(acceptor)), set_(std::move(set)) {}

Status RendezvousServer::Start() {
  Result<std::unique_ptr<sys::Thread>> thread = sys::StartThread("the meeting of hosts", [this] {
    sys::SetThreadName("tutti-hosts");
    Run();
  });
  if (!thread.ok()) return thread.status();
  thread_ = std::move(*thread);
  return Status::Ok();
}

RendezvousServer::~RendezvousServer() {
  stop_ = true;
  thread_.reset();
}

Status RendezvousServer::Await(const IdParts& id) {
  const sys::HelloTerms terms = RendezvousTerms(id);
  std::lock_guard lock(mutex_);
  if (std::erase(awaited_, terms.id) > 0) {
    awaited_.push_back(terms.id);  // it counts as the newest again
    return Status::Ok();
  }
  if (awaited_.size() >= kMostIds) {
    acceptor_->Dismiss(awaited_.front());
    awaited_.erase(awaited_.begin());
  }
  awaited_.push_back(terms.id);
  return acceptor_->Admit(terms);
}

void RendezvousServer::Run() {
  std::int64_t until_ns = 0;
  while (!stop_) {
    const Result<std::vector<sys::PollEvent>> events = set_.Wait(std::min(until_ns, sys::NowNs() + kIdleNs));
    std::lock_guard lock(mutex_);
    if (!events.ok()) {
      sys::SleepNs(sys::kNsPerMs);
      continue;
    }
    for (const sys::PollEvent& event : *events) {
      const auto found = hosts_.find(event.token);
      if (found != hosts_.end()) Serve(*found->second);
    }
    AcceptAll();
    TellKnown();
    Sweep();
    until_ns = acceptor_->NextLookNs();
  }
}

void RendezvousServer::AcceptAll() {
  while (true) {
    Result<sys::ProvenConnection> proven = acceptor_->TryAccept();
    if (!proven.ok()) {
      if (proven.status().code() == Code::kInvalidUsage) continue;  // another version, which has been told
      return;
    }
    auto host = std::make_unique<Host>();
    host->token = next_token_++;
    host->id = proven->outcome.id;
    host->connection = std::move(proven->connection);
    if (!set_.Add(host->connection.tcp().socket(), host->token, sys::PollSet::For::kReading).ok()) continue;
    Host& served = *host;
    hosts_[served.token] = std::move(host);
    Serve(served);  // its Join may be there already
  }
}

void RendezvousServer::Serve(Host& host) {
  if (host.gone) return;
  if (host.connection.wants_to_send()) {
    const Status flushed = host.connection.Flush();
    if (!flushed.ok() && flushed.code() != Code::kInProgress) return Lost(host, flushed);
    if (flushed.ok()) {
      (void)set_.Change(host.connection.tcp().socket(), host.token, sys::PollSet::For::kReading).ok();
    }
  }
  while (!host.gone) {
    const Result<sys::NetMessage> message = host.connection.TryReceive();
    if (message.status().code() == Code::kInProgress) return;
    if (!message.ok()) return Lost(host, message.status());
    if (host.over) continue;
    const Status handled = host.job == nullptr ? Enter(host, *message) : Handle(host, *message);
    if (handled.ok()) continue;
    if (host.job == nullptr) return Lost(host, handled);
    Fail(*host.job, handled);
  }
}

// Of several addresses a leader tries, more than one may lead here; it says something on one of them only.
Status RendezvousServer::Enter(Host& host, const sys::NetMessage& message) {
  const Result<Join> join = ParseJoin(message);
  if (!join.ok()) return join.status();
  std::unique_ptr<Job>& job = jobs_[host.id];
  if (job == nullptr) job = std::make_unique<Job>();
  if (job->hosts.empty()) *job = Job();
  host.said = host.name = join->host;
  for (int number = 2; std::ranges::count(job->hosts, host.name, &Host::name) > 0; ++number) {
    host.name = fmt::format("{} ({})", join->host, number);
  }
  host.ranks = join->ranks;
  host.job = job.get();
  job->hosts.push_back(&host);
  job->changed = true;
  return Status::Ok();
}

Status RendezvousServer::Handle(Host& host, const sys::NetMessage& message) {
  Status failure;
  if (ParseFailure(message, failure).ok()) {
    Fail(*host.job, failure, &host);
    return Status::Ok();
  }
  const auto senseless = [&host](const Status& why) {
    return Status(Code::kInternal,
                  fmt::format("{} sent what makes no sense to the rendezvous: {}", host.Describe(), why.message()));
  };
  const Result<RendezvousKind> kind = RendezvousKindOf(message);
  if (!kind.ok()) return senseless(kind.status());
  if (*kind == RendezvousKind::kArrivals && !host.job->told_all) return TakeArrivals(host, message);
  if (*kind == RendezvousKind::kReady && host.job->told_all) {
    host.ready = host.job->changed = true;
    if (std::ranges::all_of(host.job->hosts, &Host::ready)) Complete(*host.job);
    return Status::Ok();
  }
  return senseless(Status(Code::kInternal, fmt::format("message {} at this time", static_cast<int>(*kind))));
}

Status RendezvousServer::TakeArrivals(Host& host, const sys::NetMessage& message) {
  const Result<std::vector<Arrival>> arrivals = ParseArrivals(message, RendezvousKind::kArrivals);
  if (!arrivals.ok()) {
    return Status(Code::kInternal, fmt::format("{}: {}", host.Describe(), arrivals.status().message()));
  }
  Job& job = *host.job;
  for (const Arrival& arrival : *arrivals) {
    // Where the same process comes again the host has begun another meeting, whose news were faster than the end of the first.
    const auto is_again = [&](const Host* other) {
      const auto found = other->members.find(arrival.rank);
      return other != &host && other->said == host.said && found != other->members.end() &&
             found->second.arrival.pid == arrival.pid && found->second.arrival.start_ticks == arrival.start_ticks;
    };
    if (const auto again = std::ranges::find_if(job.hosts, is_again); again != job.hosts.end()) Leave(**again);
    for (const Host* other : job.hosts) {
      const auto found = other->members.find(arrival.rank);
      if (found == other->members.end()) continue;
      return Status(
          Code::kInvalidUsage,
          fmt::format("two ranks of {} say that they are rank {}: process {} on host {} and process {} on "
                      "host {}. Likely two jobs share one id, or one rank was started twice; give each job "
                      "an id of its own",
                      host.ranks, arrival.rank, found->second.arrival.pid, other->name, arrival.pid, host.name),
          arrival.rank);
    }
    if (arrival.rank >= host.ranks) {
      return Status(Code::kInvalidUsage,
                    fmt::format("process {} on host {} says that it is rank {} of {}: ranks go from 0 to {}",
                                arrival.pid, host.name, arrival.rank, host.ranks, host.ranks - 1),
                    arrival.rank);
    }
    Host::Member& member = host.members[arrival.rank];
    member.payload.assign(arrival.payload.begin(), arrival.payload.end());
    member.arrival = arrival;
    member.arrival.payload = member.payload;
    ++job.members;
    job.changed = true;
  }
  for (const Host* other : job.hosts) {
    if (other->ranks == host.ranks) continue;
    return Status(Code::kInvalidUsage,
                  fmt::format("the ranks were told different numbers of ranks: {} on {}, {} on {}; give all the same "
                              "number, and each job an id of its own",
                              host.ranks, host.Describe(), other->ranks, other->Describe()));
  }
  if (job.members == static_cast<std::size_t>(host.ranks) && !job.told_all) TellAll(job);
  return Status::Ok();
}

void RendezvousServer::TellAll(Job& job) {
  job.told_all = job.changed = true;
  job.told_ns = sys::NowNs();
  // A host without ranks was there before its first rank, or is one whose ranks have all met elsewhere.
  std::ranges::sort(job.hosts, {},
                    [](const Host* h) { return h->members.empty() ? kMostRanks : h->members.begin()->first; });
  All all;
  for (const Host* host : job.hosts) all.hosts.push_back(host->name);
  for (Host* to : job.hosts) {
    std::vector<Arrival> some;
    std::size_t bytes = 0;
    const auto flush = [&] {
      if (!some.empty()) Send(*to, Encode(RendezvousKind::kRemote, some));
      some.clear();
      bytes = 0;
    };
    for (std::size_t h = 0; h < job.hosts.size(); ++h) {
      if (job.hosts[h] == to) all.own = static_cast<std::int32_t>(h);
      if (job.hosts[h] == to) continue;
      for (const auto& [rank, member] : job.hosts[h]->members) {
        if (bytes + EncodedBytes(member.arrival) > kRemoteBytes) flush();
        bytes += EncodedBytes(member.arrival);
        some.push_back(member.arrival);
        some.back().host = static_cast<std::int32_t>(h);
      }
    }
    flush();
    Send(*to, Encode(all));
  }
}

void RendezvousServer::Complete(Job& job) {
  job.PutOwnHostLast();
  for (Host* host : job.hosts) {
    Send(*host, EncodeBare(RendezvousKind::kComplete));
    host->over = true;
    host->job = nullptr;
  }
  job.hosts.clear();
}

void RendezvousServer::Fail(Job& job, const Status& fault, const Host* but) {
  const sys::NetMessage message = Encode(fault);
  job.PutOwnHostLast();
  for (Host* host : job.hosts) {
    if (host != but) Send(*host, message);
    host->over = true;
    host->job = nullptr;
  }
  job.hosts.clear();
}

void RendezvousServer::Lost(Host& host, const Status& why) {
  host.gone = true;
  set_.Remove(host.connection.tcp().socket());
  Job* const job = host.job;
  if (job == nullptr) return;
  Leave(host);
  // Alone it may have found all its ranks on its own host. Others wait for it.
  if (job->hosts.empty() && !job->told_all) return;
  const int peer = host.members.empty() ? -1 : host.members.begin()->first;
  Fail(*job, Status(Code::kRemote,
                    fmt::format("{} left before the ranks had met ({}). The output of its ranks should say why",
                                host.Describe(), why.message()),
                    peer));
}

void RendezvousServer::Leave(Host& host) {
  Job& job = *host.job;
  std::erase(job.hosts, &host);
  job.members -= host.members.size();
  job.changed = true;
  host.over = true;
  host.job = nullptr;
}

void RendezvousServer::TellKnown() {
  const std::int64_t now_ns = sys::NowNs();
  for (const auto& [id, job] : jobs_) {
    const bool is_news = job->changed && now_ns - job->told_ns >= kKnownNs;
    const bool is_old = !job->told_all && now_ns - job->told_ns >= kAgainNs;
    if (!is_news && !is_old) continue;
    job->changed = false;
    job->told_ns = now_ns;
    Known known;
    for (const Host* host : job->hosts) {
      if (!host->ready) known.hosts.push_back({host->name, host->Ranks()});
    }
    const sys::NetMessage message = Encode(known);
    for (Host* host : job->hosts) Send(*host, message);
  }
}

void RendezvousServer::Send(Host& host, const sys::NetMessage& message) {
  if (host.gone) return;
  Status sent = host.connection.Post(message);
  if (sent.ok() && host.connection.unsent_bytes() > kMostUnsentBytes) {
    sent = Status(Code::kTimeout, "its leader takes nothing");
  }
  if (sent.ok() && host.connection.wants_to_send()) {
    sent = set_.Change(host.connection.tcp().socket(), host.token, sys::PollSet::For::kReadingAndWriting);
  }
  // Its end is found out when it is served: whoever calls this goes through the job's hosts.
  if (!sent.ok()) host.unreachable = sent;
}

void RendezvousServer::Sweep() {
  for (auto& [token, host] : hosts_) {
    if (!host->gone && !host->unreachable.ok()) Lost(*host, host->unreachable);
  }
  std::erase_if(hosts_, [](const auto& entry) { return entry.second->gone; });
  std::erase_if(jobs_, [](const auto& entry) { return entry.second->hosts.empty(); });
}

}  // namespace tutti::comm
