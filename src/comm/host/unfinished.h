// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_HOST_UNFINISHED_H_
#define TUTTI_COMM_HOST_UNFINISHED_H_

// What a thread has begun and left unfinished. While the thread waits for one communicator all its others move on,
// because nobody else may do it.

#include <memory>

namespace tutti::comm {

struct Core;

class Unfinished {
 public:
  virtual bool idle() const = 0;
  virtual void MoveOn() = 0;
  // Whether it stands for this communicator.
  virtual bool IsOf(const Core& core) const = 0;

 protected:
  ~Unfinished() = default;
};

// Of this thread. Those that have gone or ended are forgotten in time.
void RememberOnThread(const std::shared_ptr<Unfinished>& unfinished);
void ForgetOnThread(const Unfinished& unfinished);
// Those that are not of `self`.
bool OthersOpenOnThread(const Core& self);
void MoveOthersOnThread(const Core& self);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_HOST_UNFINISHED_H_
