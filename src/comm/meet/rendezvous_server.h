// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_MEET_RENDEZVOUS_SERVER_H_
#define TUTTI_COMM_MEET_RENDEZVOUS_SERVER_H_

// Where the leaders of several hosts find each other: in the process that made the id, which need be no rank. The id has its
// addresses. It listens on one port for all ids of the process, by a thread of its own, which sleeps while nobody comes.
//
// A leader is the rank that gathers the ranks of its host (bootstrap_gatherer.h). It tells which ranks have come to it; when all
// ranks of the job have come somewhere, each leader is told those of the others. Ranks of one host that all find each other
// need none of this. One failure ends a job's meeting on all hosts, with one sentence; the next meeting under that id begins
// afresh.

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/identity/unique_id.h"
#include "comm/meet/rendezvous_message.h"
#include "sys/net/poll_set.h"
#include "sys/net/proven_connection.h"
#include "tutti/status.h"

namespace tutti::sys {
class Thread;
}

namespace tutti::comm {

class RendezvousServer {
 public:
  static Result<std::unique_ptr<RendezvousServer>> Open(sys::TcpListener listener);
  ~RendezvousServer();
  RendezvousServer(const RendezvousServer&) = delete;
  RendezvousServer& operator=(const RendezvousServer&) = delete;
  const std::vector<sys::Endpoint>& endpoints() const { return acceptor_->listener().endpoints(); }
  // Awaits the leaders of a job from now on, if it does not already. Of more than kMostIds the oldest is forgotten. Any thread.
  Status Await(const IdParts& id);
  static constexpr std::size_t kMostIds = 4096;

 private:
  struct Host;
  struct Job;

  RendezvousServer(std::unique_ptr<sys::Acceptor> acceptor, sys::PollSet set);
  Status Start();
  void Run();
  void AcceptAll();
  void Serve(Host& host);
  Status Enter(Host& host, const sys::NetMessage& message);
  Status Handle(Host& host, const sys::NetMessage& message);
  Status TakeArrivals(Host& host, const sys::NetMessage& message);
  void Lost(Host& host, const Status& why);
  // Takes a host out of its job, without a word to it.
  void Leave(Host& host);
  // Tells all hosts of a job, but one, why their meeting has failed, and forgets it.
  void Fail(Job& job, const Status& fault, const Host* but = nullptr);
  void TellAll(Job& job);
  void Complete(Job& job);
  void TellKnown();
  void Send(Host& host, const sys::NetMessage& message);
  void Sweep();

  std::mutex mutex_;  // over all but set_, which the thread waits on without it
  std::unique_ptr<sys::Acceptor> acceptor_;
  sys::PollSet set_;
  std::map<sys::HelloId, std::unique_ptr<Job>> jobs_;
  std::map<std::uint64_t, std::unique_ptr<Host>> hosts_;  // by token
  std::vector<sys::HelloId> awaited_;                     // the oldest first
  std::uint64_t next_token_ = 1;
  std::atomic<bool> stop_{false};
  std::unique_ptr<sys::Thread> thread_;
};

}  // namespace tutti::comm

#endif  // TUTTI_COMM_MEET_RENDEZVOUS_SERVER_H_
