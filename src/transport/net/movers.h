// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_MOVERS_H_
#define TUTTI_TRANSPORT_NET_MOVERS_H_

// Threads that move large data between ranks of different hosts, beside the thread that waits for them: copying into and out of
// sockets is what takes most of the time, and one core copies less than a fast card carries. Each serves its share of the flows
// beyond the first ones (remote_rank.h), polls while something moves, and sleeps else.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "sys/net/unix_socket.h"
#include "tutti/status.h"

namespace tutti::sys {
class Thread;
}

namespace tutti::transport::net {

class RemoteRank;

// Threads: any.
class Movers {
 public:
  static Result<std::shared_ptr<Movers>> Start(int threads);
  // Ends the threads.
  ~Movers();
  Movers(const Movers&) = delete;
  Movers& operator=(const Movers&) = delete;

  // Serves a rank's further flows from now on; once is enough. It outlives this object.
  void Serve(RemoteRank& rank);
  // There is something to send. Costs a system call for each thread that sleeps.
  void Wake();

  // For one other thread, which waits for what movers move. It asks for news before it looks whether that has come, again and again:
  // whether something was moved between the last two times.
  bool TakeNews();
  // It is about to sleep until one of `watched` is ready, to which this adds what movers ring. False: there was news since before it
  // looked, so it must look once more. Afterwards EndSleep.
  bool BeginSleep(std::vector<sys::Watched>& watched);
  void EndSleep();

 private:
  struct Mover {
    int number = 0;
    std::atomic<bool> sleeps{false};
    sys::SocketPair alarm;
    std::vector<RemoteRank*> ranks;  // the mover's own copy
    std::unique_ptr<sys::Thread> thread;
  };

  Movers() = default;
  void Run(Mover& mover);
  // Whether something has woken it.
  bool Sleep(Mover& mover);
  bool Move(Mover& mover);
  void TellNews();
  int count() const { return static_cast<int>(movers_.size()); }

  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> news_{0};
  std::uint64_t news_taken_ = 0, news_before_ = 0;  // as they were the last two times that somebody asked
  std::atomic<bool> asker_sleeps_{false};
  sys::SocketPair bell_;  // for who asks
  std::mutex mutex_;
  std::vector<RemoteRank*> ranks_;        // guarded by mutex_
  std::atomic<std::uint32_t> served_{0};  // how many they are
  std::vector<std::unique_ptr<Mover>> movers_;
};

}  // namespace tutti::transport::net

#endif  // TUTTI_TRANSPORT_NET_MOVERS_H_
