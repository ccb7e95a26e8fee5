// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/tcp_connect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "sys/net/poll_set.h"

namespace tutti::sys {
namespace {

constexpr std::int64_t kFirstPauseNs = 20 * kNsPerMs;
constexpr std::int64_t kLongestPauseNs = kNsPerSecond;
constexpr std::int64_t kKnockNs = 200'000;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// One endpoint in the race.
struct Lane {
  enum class Stage : std::uint8_t { kResting, kConnecting, kShaking, kLost };

  Endpoint endpoint;
  Stage stage = Stage::kResting;
  std::int64_t next_ns = 0;  // when it begins, or where it shakes hands, when that has lasted too long
  std::int64_t pause_ns = kFirstPauseNs;
  int tries = 0;
  std::string last;  // how its last try ended
  Fd socket;         // while it connects
  FramedConnection connection;
  std::unique_ptr<Handshake> handshake;
};

class Race {
 public:
  Race(std::span<const Endpoint> endpoints, const ConnectOptions& options, std::int64_t deadline_ns)
      : options_(options), begin_ns_(NowNs()), deadline_ns_(deadline_ns), random_(static_cast<unsigned>(begin_ns_)) {
    for (const Endpoint& endpoint : endpoints) {
      Lane lane;
      lane.endpoint = endpoint;
      lane.next_ns = begin_ns_ + static_cast<std::int64_t>(lanes_.size()) * options.stagger_ns;
      lanes_.push_back(std::move(lane));
    }
  }

  Result<Connected> Run() {
    Result<PollSet> set = PollSet::Make();
    if (!set.ok()) return set.status();
    set_ = std::move(*set);
    while (true) {
      StartDue();
      if (winner_ != nullptr) return Finish();
      if (!verdict_.ok()) return verdict_;
      if (std::ranges::all_of(lanes_, [](const Lane& lane) { return lane.stage == Lane::Stage::kLost; })) return Fail();
      if (NowNs() >= deadline_ns_) return Fail();
      const Result<std::vector<PollEvent>> news = set_.Wait(NextNs());
      if (!news.ok()) return news.status();
      for (const PollEvent& event : *news) {
        if (winner_ == nullptr && verdict_.ok()) Serve(lanes_[event.token]);
      }
    }
  }

 private:
  std::int64_t NextNs() const {
    std::int64_t next_ns = deadline_ns_;
    for (const Lane& lane : lanes_) next_ns = std::min(next_ns, lane.next_ns);
    return next_ns;
  }

  void StartDue() {
    for (Lane& lane : lanes_) {
      if (winner_ != nullptr || !verdict_.ok()) return;
      if (NowNs() < lane.next_ns) continue;
      if (lane.stage == Lane::Stage::kResting) Start(lane);
      if (lane.stage == Lane::Stage::kShaking && NowNs() >= lane.next_ns) {
        Lose(lane,
             Status(Code::kTimeout,
                    fmt::format("{} took the connection from {} and then said nothing: another program listens there, "
                                "or that process is stopped",
                                lane.endpoint.ToString(), lane.connection.tcp().local().ToString())));
      }
    }
  }

  void Start(Lane& lane) {
    ++lane.tries;
    Result<Fd> socket = StartConnect(lane.endpoint, options_.from, options_.interface, options_.segment_bytes);
    if (!socket.ok()) return Lose(lane, socket.status());
    lane.socket = std::move(*socket);
    lane.stage = Lane::Stage::kConnecting;
    lane.next_ns = kNever;  // the system repeats what gets lost
    const Status watched = set_.Add(lane.socket, Index(lane), PollSet::For::kWriting);
    if (!watched.ok()) Lose(lane, watched);
  }

  void Serve(Lane& lane) {
    if (lane.stage == Lane::Stage::kConnecting) {
      Result<TcpConnection> made = FinishConnect(lane.socket, lane.endpoint, options_.patience);
      if (!made.ok()) {
        if (made.status().code() != Code::kInProgress) Lose(lane, made.status());
        return;
      }
      lane.connection = FramedConnection(std::move(*made), options_.most_bytes);
      lane.stage = Lane::Stage::kShaking;
      lane.next_ns = NowNs() + options_.handshake_ns;
      if (options_.handshake) lane.handshake = options_.handshake();
    }
    if (lane.stage == Lane::Stage::kShaking) Shake(lane);
  }

  void Shake(Lane& lane) {
    Status status = lane.connection.Flush();
    if (status.ok() || status.code() == Code::kInProgress) {
      status = lane.handshake == nullptr ? Status::Ok() : lane.handshake->Advance(lane.connection);
    }
    if (status.code() == Code::kInvalidUsage) verdict_ = status;
    if (status.ok()) winner_ = &lane;
    if (status.code() == Code::kInProgress) {
      const bool writes = lane.connection.wants_to_send();
      status = set_.Change(lane.connection.tcp().socket(), Index(lane),
                           writes ? PollSet::For::kReadingAndWriting : PollSet::For::kReading);
    }
    if (!status.ok()) Lose(lane, status);
  }

  // Ends a try. Whoever waits for its turn gets it now.
  void Lose(Lane& lane, const Status& why) {
    lane.last = why.message();
    if (lane.socket.valid()) set_.Remove(lane.socket);
    if (lane.connection.valid()) set_.Remove(lane.connection.tcp().socket());
    lane.socket.Close();
    lane.connection = FramedConnection();
    lane.handshake.reset();
    if (why.code() == Code::kInvalidUsage) {
      lane.stage = Lane::Stage::kLost;
      lane.next_ns = kNever;
    } else {
      lane.stage = Lane::Stage::kResting;
      const std::int64_t chance_ns = static_cast<std::int64_t>(random_() % 256) * lane.pause_ns / 512;
      lane.next_ns = NowNs() + lane.pause_ns * 3 / 4 + chance_ns;
      lane.pause_ns = std::min(lane.pause_ns * 2, kLongestPauseNs);
    }
    const auto fresh = std::ranges::find(lanes_, 0, &Lane::tries);
    if (fresh != lanes_.end()) fresh->next_ns = std::min(fresh->next_ns, NowNs());
  }

  Result<Connected> Finish() {
    // The set is destroyed with this object; its socket lives on.
    set_.Remove(winner_->connection.tcp().socket());
    Connected won{.connection = std::move(winner_->connection),
                  .handshake = std::move(winner_->handshake),
                  .index = Index(*winner_),
                  .tries = 0};
    for (const Lane& lane : lanes_) won.tries += lane.tries;
    return won;
  }

  static std::string Describe(const Lane& lane) {
    if (!lane.last.empty()) return lane.last;
    if (lane.stage != Lane::Stage::kConnecting) return fmt::format("{} was not tried yet", lane.endpoint.ToString());
    return fmt::format("no answer from {}. {}", lane.endpoint.ToString(), LikelyCause(ETIMEDOUT));
  }

  // What became of another port of the same address, if it was the same.
  bool IsAsAt(const Lane& first, const Lane& lane) const {
    if (first.endpoint.address != lane.endpoint.address) return false;
    std::string how = Describe(lane);
    const std::string own = lane.endpoint.ToString(), other = first.endpoint.ToString();
    for (std::size_t at = how.find(own); at != std::string::npos; at = how.find(own, at + other.size())) {
      how.replace(at, own.size(), other);
    }
    return how == Describe(first);
  }

  Status Fail() const {
    std::string list;
    bool hopeless = true;
    for (auto lane = lanes_.begin(); lane != lanes_.end(); ++lane) {
      hopeless = hopeless && lane->stage == Lane::Stage::kLost;
      const auto as = [this](const Lane& one) {
        return [this, &one](const Lane& other) { return IsAsAt(one, other); };
      };
      if (std::any_of(lanes_.begin(), lane, [&](const Lane& earlier) { return IsAsAt(earlier, *lane); })) continue;
      list += fmt::format("{}{} ({} {})", list.empty() ? "" : "; ", Describe(*lane), lane->tries,
                          lane->tries == 1 ? "try" : "tries");
      const auto likewise = std::count_if(lane + 1, lanes_.end(), as(*lane));
      if (likewise > 0) list += fmt::format(", likewise at {} more {}", likewise, likewise == 1 ? "port" : "ports");
    }
    if (lanes_.empty()) list = "it has no address";
    return Status(hopeless ? Code::kInvalidUsage : Code::kTimeout,
                  fmt::format("cannot connect to {} within {} ms: {}", options_.peer,
                              (std::max(deadline_ns_, begin_ns_) - begin_ns_ + kNsPerMs / 2) / kNsPerMs, list));
  }

  std::size_t Index(const Lane& lane) const { return static_cast<std::size_t>(&lane - lanes_.data()); }

  const ConnectOptions& options_;
  const std::int64_t begin_ns_, deadline_ns_;
  std::minstd_rand random_;
  std::vector<Lane> lanes_;  // never grows once the race runs
  PollSet set_;              // tokens are indices of lanes
  Lane* winner_ = nullptr;
  Status verdict_;
};

}  // namespace

Result<Connected> ConnectAny(std::span<const Endpoint> endpoints, const ConnectOptions& options,
                             std::int64_t deadline_ns) {
  return Race(endpoints, options, deadline_ns).Run();
}

Reply Knock(std::span<const Endpoint> endpoints, std::int64_t deadline_ns) {
  std::vector<Fd> sockets;
  std::size_t refused = 0;
  for (const Endpoint& endpoint : endpoints) {
    Result<Fd> socket = StartConnect(endpoint);
    if (socket.ok()) sockets.push_back(std::move(*socket));
    // On this host the answer comes at once.
    if (!socket.ok()) refused += socket.status().code() == Code::kInvalidUsage ? 0 : 1;
  }
  while (true) {
    for (Fd& socket : sockets) {
      if (!socket.valid()) continue;
      const std::optional<int> error = ConnectError(socket);
      if (!error) continue;
      if (*error == 0) return Reply::kAccepted;
      if (*error == ECONNREFUSED) ++refused;
      socket.Close();
    }
    if (refused > 0 && refused == endpoints.size()) return Reply::kRefused;
    const bool open = std::ranges::any_of(sockets, [](const Fd& socket) { return socket.valid(); });
    if (!open || NowNs() >= deadline_ns) return Reply::kSilent;
    SleepNs(kKnockNs);
  }
}

}  // namespace tutti::sys
