// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/proven_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace tutti::sys {
namespace {

constexpr std::uint64_t kListenerToken = std::numeric_limits<std::uint64_t>::max();
constexpr int kMostAccepts = 64;  // in one turn, so that those who are in get theirs

// Hello with one peer, until a message is missing. Side is a HelloCaller or a HelloListener.
template <typename Side>
Status Proceed(FramedConnection& connection, Side& side, const std::string& caller, const std::string& listener) {
  while (true) {
    const Result<NetMessage> message = connection.TryReceive();
    if (!message.ok()) return message.status();
    NetMessage reply;
    const Status status = side.Take(*message, caller, listener, reply);
    if (!reply.empty()) {
      const Status posted = connection.Post(reply);
      if (!posted.ok() && (status.ok() || status.code() == Code::kInProgress)) return posted;
    }
    if (status.code() != Code::kInProgress) return status;
  }
}

class CallersHandshake : public Handshake {
 public:
  CallersHandshake(const HelloTerms& terms, const Nonce& nonce) : side_(terms, nonce) {}

  Status Advance(FramedConnection& connection) override {
    if (!opened_) TUTTI_RETURN_IF_ERROR(connection.Post(side_.Opening()));
    opened_ = true;
    const std::string listener = connection.tcp().remote().ToString();
    const Status status = Proceed(connection, side_, connection.tcp().local().ToString(), listener);
    const std::string& said = status.message();
    if (status.code() == Code::kRemote) {
      return Status(Code::kRemote,
                    fmt::format("{}, instead of proving that it knows the secret of this job: another job or "
                                "program listens there, or it has ended",
                                said));
    }
    if (status.code() == Code::kInvalidArgument && !said.starts_with(listener)) {
      return Status(Code::kInvalidArgument, fmt::format("{} {}", listener, said));
    }
    return status;
  }
  const HelloOutcome& outcome() const { return side_.outcome(); }

 private:
  HelloCaller side_;
  bool opened_ = false;
};

Status CheckTerms(const HelloTerms& terms) {
  if (terms.payload.size() <= kMostHelloPayload) return Status::Ok();
  return Status(Code::kInternal,
                fmt::format("a hello carries at most {} bytes, not {}", kMostHelloPayload, terms.payload.size()));
}

}  // namespace

std::unique_ptr<Handshake> CallersHello(const HelloTerms& terms, const Nonce& nonce) {
  return std::make_unique<CallersHandshake>(terms, nonce);
}

Result<ProvenConnection> ConnectProven(std::span<const Endpoint> endpoints, const HelloTerms& terms,
                                       ConnectOptions options, std::int64_t deadline_ns) {
  TUTTI_RETURN_IF_ERROR(CheckTerms(terms));
  const std::size_t most_bytes = std::exchange(options.most_bytes, kMostHelloBytes);
  // A nonce for each try follows from one that the kernel gives, by the key that it is.
  const Result<Nonce> seed = FreshNonce();
  if (!seed.ok()) return seed.status();
  std::uint64_t tries = 0;
  options.handshake = [&terms, &seed, &tries]() -> std::unique_ptr<Handshake> {
    ++tries;
    return std::make_unique<CallersHandshake>(
        terms, ComputeMac(*seed, {Bytes("tutti hello nonce"), std::as_bytes(std::span(&tries, 1))}));
  };
  Result<Connected> won = ConnectAny(endpoints, options, deadline_ns);
  if (!won.ok()) return won.status();
  won->connection.set_most_bytes(most_bytes);
  return ProvenConnection{.connection = std::move(won->connection),
                          .outcome = static_cast<const CallersHandshake&>(*won->handshake).outcome()};
}

Acceptor::Acceptor(TcpListener listener, const Options& options) : listener_(std::move(listener)), options_(options) {}

Acceptor::~Acceptor() = default;

Result<std::unique_ptr<Acceptor>> Acceptor::Make(TcpListener listener, const Options& options) {
  std::unique_ptr<Acceptor> made(new Acceptor(std::move(listener), options));
  Result<PollSet> set = PollSet::Make();
  if (!set.ok()) return set.status();
  made->set_ = std::move(*set);
  for (const Fd& socket : made->listener_.sockets()) {
    TUTTI_RETURN_IF_ERROR(made->set_.Add(socket, kListenerToken, PollSet::For::kReading));
  }
  return made;
}

Status Acceptor::Admit(const HelloTerms& terms) {
  TUTTI_RETURN_IF_ERROR(CheckTerms(terms));
  admitted_[terms.id] = terms;
  return Status::Ok();
}

void Acceptor::Dismiss(const HelloId& id) { admitted_.erase(id); }

const HelloTerms* Acceptor::Find(const HelloId& id) const {
  const auto found = admitted_.find(id);
  return found == admitted_.end() ? nullptr : &found->second;
}

std::int64_t Acceptor::NextLookNs() const {
  // All have the same patience, so the oldest is the first to lose it.
  return strangers_.empty() ? std::numeric_limits<std::int64_t>::max() : strangers_.begin()->second.until_ns;
}

Result<ProvenConnection> Acceptor::Accept(std::int64_t deadline_ns) {
  while (true) {
    Result<ProvenConnection> proven = TryAccept();
    if (proven.ok() || proven.status().code() != Code::kInProgress) return proven;
    if (NowNs() >= deadline_ns) {
      return Status(
          Code::kTimeout,
          fmt::format("nobody who knows the secret has connected to {} before the deadline; {} others were dropped{}{}",
                      ListEndpoints(listener_.endpoints()), dropped_.all(),
                      dropped_.last.empty() ? "" : ", the last: ", dropped_.last));
    }
    // The news themselves are taken by TryAccept, which finds them again.
    const Result<std::vector<PollEvent>> news = set_.Wait(std::min(deadline_ns, NextLookNs()));
    if (!news.ok()) return news.status();
  }
}

Result<ProvenConnection> Acceptor::TryAccept() {
  if (ready_.empty()) TUTTI_RETURN_IF_ERROR(Turn());
  if (ready_.empty()) return Status(Code::kInProgress, "nobody has proven himself");
  Result<ProvenConnection> first = std::move(ready_.front());
  ready_.pop_front();
  return first;
}

// Whatever can be done now.
Status Acceptor::Turn() {
  const Result<std::vector<PollEvent>> news = set_.Wait(0);
  if (!news.ok()) return news.status();
  bool callers = false;
  for (const PollEvent& event : *news) {
    if (event.token == kListenerToken) {
      callers = true;
    } else if (const auto place = strangers_.find(event.token); place != strangers_.end()) {
      Serve(place);
    }
  }
  if (callers) TUTTI_RETURN_IF_ERROR(AcceptAll());
  DropLate();
  return Status::Ok();
}

Status Acceptor::AcceptAll() {
  for (int i = 0; i < kMostAccepts; ++i) {
    Result<TcpConnection> connection = listener_.Accept(options_.patience);
    if (connection.ok()) {
      Take(std::move(*connection));
    } else if (connection.status().code() == Code::kInProgress) {
      return Status::Ok();
    } else if (!DisplaceOne()) {
      return connection.status();
    }
  }
  return Status::Ok();
}

void Acceptor::Take(TcpConnection connection) {
  const Result<Nonce> nonce = FreshNonce();
  if (!nonce.ok()) return;  // it tries again
  while (strangers_.size() >= std::max<std::size_t>(options_.most_strangers, 1)) DisplaceOne();
  Stranger stranger;
  stranger.connection = FramedConnection(std::move(connection), kMostHelloBytes);
  stranger.hello = std::make_unique<HelloListener>([this](const HelloId& id) { return Find(id); }, *nonce);
  stranger.until_ns = NowNs() + options_.patience_ns;
  const std::uint64_t token = next_token_++;
  if (!set_.Add(stranger.connection.tcp().socket(), token, PollSet::For::kReading).ok()) return;
  // Its first message is mostly there already.
  Serve(strangers_.emplace(token, std::move(stranger)).first);
}

void Acceptor::Serve(Strangers::iterator place) {
  Stranger& stranger = place->second;
  const std::string caller = stranger.connection.tcp().remote().ToString();
  const std::string listener = stranger.connection.tcp().local().ToString();
  Status status = stranger.connection.Flush();
  if (status.ok() || status.code() == Code::kInProgress) {
    status = Proceed(stranger.connection, *stranger.hello, caller, listener);
  }
  switch (status.code()) {
    case Code::kInProgress:
      return;
    case Code::kOk:
      set_.Remove(stranger.connection.tcp().socket());
      stranger.connection.set_most_bytes(options_.most_bytes);
      ready_.push_back(ProvenConnection{std::move(stranger.connection), stranger.hello->outcome()});
      strangers_.erase(place);
      return;
    case Code::kInvalidUsage:
      ready_.push_back(status);
      set_.Remove(stranger.connection.tcp().socket());
      strangers_.erase(place);
      return;
    case Code::kInvalidArgument:
      dropped_.last = status.message().starts_with(caller) ? status.message() : caller + " " + status.message();
      Drop(place, dropped_.strange);
      return;
    default:
      Drop(place, dropped_.left);
  }
}

void Acceptor::Drop(Strangers::iterator place, std::uint64_t& count) {
  ++count;
  set_.Remove(place->second.connection.tcp().socket());
  strangers_.erase(place);
}

void Acceptor::DropLate() {
  const std::int64_t now_ns = NowNs();
  while (!strangers_.empty() && strangers_.begin()->second.until_ns <= now_ns)
    Drop(strangers_.begin(), dropped_.silent);
}

bool Acceptor::DisplaceOne() {
  if (strangers_.empty()) return false;
  std::map<IpAddress, std::size_t> counts;
  std::size_t most = 0;
  for (const auto& [token, stranger] : strangers_) {
    most = std::max(most, ++counts[stranger.connection.tcp().remote().address]);
  }
  const auto oldest = std::ranges::find_if(
      strangers_, [&](const auto& entry) { return counts[entry.second.connection.tcp().remote().address] == most; });
  Drop(oldest, dropped_.displaced);
  return true;
}

}  // namespace tutti::sys
