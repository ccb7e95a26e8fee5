// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "ras/service.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/log.h"
#include "ras/door.h"
#include "ras/events.h"
#include "ras/report.h"
#include "ras/session.h"
#include "sys/net/poll_set.h"
#include "sys/net/tcp.h"
#include "sys/os/clock.h"
#include "sys/os/process.h"

namespace tutti::ras {
namespace {

constexpr std::uint64_t kListener = 0, kName = 1, kFirstClient = 2;
constexpr std::int64_t kTickNs = sys::kNsPerSecond;
constexpr std::int64_t kSeekNs = 2 * sys::kNsPerSecond;
constexpr std::int64_t kLingerNs = 2 * sys::kNsPerSecond;
// So many clients that ask at a time cost one look.
constexpr std::int64_t kFreshNs = 100 * sys::kNsPerMs;
// Between looks at ranks whose counts differ, until they have reached each other: most do within the first. All together they are
// little of the second that clients wait for an answer.
constexpr std::int64_t kPausesNs[] = {2 * sys::kNsPerMs, 8 * sys::kNsPerMs, 40 * sys::kNsPerMs};
// What the porter has before another takes its place: less than the second that clients wait for an answer. Different for processes
// that are started side by side, so that one of them goes first.
std::int64_t PorterTurnNs() { return (200 + sys::Self().pid % 8 * 25) * sys::kNsPerMs; }

sys::PollSet::For Wants(bool reads, bool writes) {
  if (reads) return writes ? sys::PollSet::For::kReadingAndWriting : sys::PollSet::For::kReading;
  return writes ? sys::PollSet::For::kWriting : sys::PollSet::For::kNothing;
}

// Threads: one.
class Service {
 public:
  explicit Service(Terms terms);
  void Run();

 private:
  struct Client {
    sys::TcpConnection tcp;
    Session session;
    std::int64_t moved_ns = 0;  // when it last sent or took something
    bool lingers = false;       // all is sent, and its end is awaited, so that nothing of it is lost on the way
  };
  using Clients = std::map<std::uint64_t, Client>;

  void SeekDoor(std::int64_t now_ns);
  void Knocked(std::int64_t now_ns);
  // Takes all who wait in. How many.
  int LetIn(std::int64_t now_ns);
  Session MakeSession();
  bool MakeRoom();
  void Serve(Clients::iterator client, const sys::PollEvent& event, std::int64_t now_ns);
  // False: the client is to go.
  bool Read(Client& client, std::int64_t now_ns);
  bool Write(Client& client, std::int64_t now_ns);
  bool Monitors(const Client& client) const { return client.session.monitors(); }
  void Cut(Clients::iterator client);
  void CutSilent(std::int64_t now_ns);
  void TellMonitors(std::int64_t now_ns);
  const Report& FreshReport();
  const std::vector<std::byte>& FreshLook();
  std::int64_t NextNs(std::int64_t now_ns) const;

  const Terms terms_;
  Door door_;
  std::optional<sys::PollSet> poll_;
  Clients clients_;  // by token
  std::uint64_t next_token_;
  std::int64_t seek_ns_ = 0;               // when to see to the door again
  std::int64_t tell_ns_ = 0;               // when to look for events again
  std::optional<std::int64_t> let_in_ns_;  // somebody knocks, and it is the porter's turn until then
  bool stands_in_ = false;                 // for a porter that did not answer
  bool watches_listener_ = false, watches_name_ = false, told_trouble_ = false;
  std::int64_t made_ns_ = 0;  // report_
  Report report_;
  std::int64_t looked_ns_ = 0;  // look_
  std::vector<std::byte> look_;
  std::optional<Report> told_;  // what the monitors know
};

Service::Service(Terms terms) : terms_(std::move(terms)), door_(terms_.address), next_token_(kFirstClient) {}

void Service::Run() {
  Result<sys::PollSet> poll = sys::PollSet::Make();
  if (!poll.ok()) {
    TUTTI_INFO(log::kInit | log::kRas, "there is no RAS service: {}", poll.status().message());
    return;
  }
  poll_ = std::move(*poll);
  while (terms_.goes_on()) {
    std::int64_t now_ns = sys::NowNs();
    if (now_ns >= seek_ns_) SeekDoor(now_ns);
    const Result<std::vector<sys::PollEvent>> events = poll_->Wait(NextNs(now_ns));
    now_ns = sys::NowNs();
    if (!events.ok()) {
      sys::SleepNs(kTickNs);
      continue;
    }
    for (const sys::PollEvent& event : *events) {
      if (event.token == kListener) {
        Knocked(now_ns);
      } else if (event.token == kName) {
        door_.HandOn();
      } else if (const auto client = clients_.find(event.token); client != clients_.end()) {
        Serve(client, event, now_ns);
      }
    }
    if (let_in_ns_ && now_ns >= *let_in_ns_) {
      let_in_ns_.reset();
      stands_in_ = LetIn(now_ns) > 0;
      (void)poll_->Change(door_.listener(), kListener, sys::PollSet::For::kReading);
    }
    CutSilent(now_ns);
    if (now_ns >= tell_ns_) TellMonitors(now_ns);
  }
  // What clients still read gets an end, also where a forked child holds their sockets.
  for (auto& [token, client] : clients_) client.tcp.EndSending();
}

std::int64_t Service::NextNs(std::int64_t now_ns) const {
  return std::min({now_ns + kTickNs, seek_ns_, let_in_ns_.value_or(INT64_MAX)});
}

void Service::SeekDoor(std::int64_t now_ns) {
  const bool was_open = door_.open();
  const Status sought = door_.Seek();
  seek_ns_ = now_ns + kSeekNs;
  if (!sought.ok()) {
    if (!std::exchange(told_trouble_, true))
      TUTTI_INFO(log::kInit | log::kRas, "RAS clients are not answered by this process: {}", sought.message());
    return;
  }
  if (!was_open) TUTTI_INFO(log::kInit | log::kRas, "RAS clients are answered at {}", door_.endpoint().ToString());
  if (!watches_listener_) {
    watches_listener_ = poll_->Add(door_.listener(), kListener, sys::PollSet::For::kReading).ok();
  }
  if (door_.is_porter() && !watches_name_) {
    watches_name_ = poll_->Add(door_.name(), kName, sys::PollSet::For::kReading).ok();
  }
}

void Service::Knocked(std::int64_t now_ns) {
  if (door_.is_porter()) {
    (void)LetIn(now_ns);
  } else if (stands_in_) {
    stands_in_ = LetIn(now_ns) > 0;  // else the porter is back
  } else if (!let_in_ns_) {
    let_in_ns_ = now_ns + PorterTurnNs();
    (void)poll_->Change(door_.listener(), kListener, sys::PollSet::For::kNothing);
  }
}

int Service::LetIn(std::int64_t now_ns) {
  int count = 0;
  // Those who knock all the time shall not keep the others waiting.
  while (count < static_cast<int>(kMostClients)) {
    Result<sys::TcpConnection> tcp = door_.Accept();
    if (!tcp.ok()) break;
    ++count;
    if (!MakeRoom()) continue;
    const std::uint64_t token = next_token_++;
    if (!poll_->Add(tcp->socket(), token, sys::PollSet::For::kReading).ok()) continue;
    clients_.emplace(token, Client{.tcp = std::move(*tcp), .session = MakeSession(), .moved_ns = now_ns});
  }
  return count;
}

Session Service::MakeSession() {
  Session::MakeLookNow make_look;
  if (terms_.encode) make_look = [this]() -> const std::vector<std::byte>& { return FreshLook(); };
  return Session([this]() -> const Report& { return FreshReport(); }, std::move(make_look));
}

bool Service::MakeRoom() {
  if (clients_.size() < kMostClients) return true;
  auto longest = clients_.end();
  for (auto c = clients_.begin(); c != clients_.end(); ++c) {
    if (Monitors(c->second)) continue;
    if (longest == clients_.end() || c->second.moved_ns < longest->second.moved_ns) longest = c;
  }
  if (longest == clients_.end()) return false;
  Cut(longest);
  return true;
}

void Service::Serve(Clients::iterator at, const sys::PollEvent& event, std::int64_t now_ns) {
  Client& client = at->second;
  bool stays = !event.readable || Read(client, now_ns);
  if (stays) stays = Write(client, now_ns);
  if (!stays) {
    Cut(at);
    return;
  }
  const bool reads = !client.session.ends() || client.lingers;
  (void)poll_->Change(client.tcp.socket(), at->first, Wants(reads, !client.session.outgoing().empty()));
}

bool Service::Read(Client& client, std::int64_t now_ns) {
  std::array<char, 4096> buffer;
  const Result<std::size_t> bytes = client.tcp.Receive(std::as_writable_bytes(std::span(buffer)));
  if (!bytes.ok()) {
    if (bytes.status().code() == Code::kInProgress) return true;
    // It says no more, and may still read its report.
    return client.session.ends() && !client.lingers;
  }
  if (client.lingers) return true;
  client.moved_ns = now_ns;
  if (!client.session.Take({buffer.data(), *bytes})) return false;
  const auto monitors = std::ranges::count_if(clients_, [&](const auto& c) { return Monitors(c.second); });
  if (Monitors(client) && !told_) TellMonitors(now_ns);  // from here on
  return static_cast<std::size_t>(monitors) <= kMostMonitors;
}

bool Service::Write(Client& client, std::int64_t now_ns) {
  while (!client.session.outgoing().empty()) {
    const Result<std::size_t> sent = client.tcp.Send(std::as_bytes(std::span(client.session.outgoing())));
    if (!sent.ok()) return sent.status().code() == Code::kInProgress;
    client.session.Sent(*sent);
    client.moved_ns = now_ns;
  }
  if (client.session.ends() && !std::exchange(client.lingers, true)) {
    client.tcp.EndSending();
    client.moved_ns = now_ns;
  }
  return true;
}

void Service::Cut(Clients::iterator client) {
  poll_->Remove(client->second.tcp.socket());
  client->second.tcp.EndSending();
  clients_.erase(client);
}

void Service::CutSilent(std::int64_t now_ns) {
  for (auto at = clients_.begin(); at != clients_.end();) {
    const auto next = std::next(at);
    const Client& client = at->second;
    const bool may_be_silent = Monitors(client) && client.session.outgoing().empty() && !client.session.ends();
    const std::int64_t most_ns = client.lingers ? kLingerNs : terms_.silence_ns;
    if (!may_be_silent && now_ns - client.moved_ns > most_ns) Cut(at);
    at = next;
  }
}

void Service::TellMonitors(std::int64_t now_ns) {
  tell_ns_ = now_ns + kTickNs;
  if (std::ranges::none_of(clients_, [&](const auto& c) { return Monitors(c.second); })) {
    told_.reset();
    return;
  }
  Report now = FreshReport();
  const std::vector<Event> events = told_ ? EventsBetween(*told_, now) : std::vector<Event>{};
  told_ = std::move(now);
  if (events.empty()) return;
  for (auto at = clients_.begin(); at != clients_.end();) {
    const auto next = std::next(at);
    Client& client = at->second;
    const bool keeps_up = std::ranges::all_of(events, [&](const Event& e) { return client.session.Tell(e); });
    if (!keeps_up || !Write(client, now_ns)) {
      Cut(at);
    } else if (!client.session.outgoing().empty()) {
      (void)poll_->Change(client.tcp.socket(), at->first, Wants(true, true));
    }
    at = next;
  }
}

const Report& Service::FreshReport() {
  const std::int64_t begin_ns = sys::NowNs();
  if (made_ns_ != 0 && begin_ns - made_ns_ < kFreshNs) return report_;
  const Report first = MakeReport(terms_.observe());
  report_ = first;
  for (const std::int64_t pause_ns : kPausesNs) {
    if (!CountsDiffer(report_)) break;
    sys::SleepNs(pause_ns);
    report_ = MakeReport(terms_.observe());
    AlignCounts(first, report_);
  }
  made_ns_ = sys::NowNs();
  report_.seconds = static_cast<double>(made_ns_ - begin_ns) / static_cast<double>(sys::kNsPerSecond);
  return report_;
}

const std::vector<std::byte>& Service::FreshLook() {
  if (looked_ns_ != 0 && sys::NowNs() - looked_ns_ < kFreshNs) return look_;
  look_ = terms_.encode(terms_.observe().look);
  looked_ns_ = sys::NowNs();
  return look_;
}

}  // namespace

void Serve(Terms terms) { Service(std::move(terms)).Run(); }

}  // namespace tutti::ras
