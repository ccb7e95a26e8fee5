// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_KERNELS_FIBRE_H_
#define TUTTI_TESTS_KERNELS_FIBRE_H_

#include <ucontext.h>

#include <csetjmp>
#include <cstddef>
#include <functional>
#include <memory>

namespace tutti::tests {

// A function with a stack of its own, which goes on when it is resumed and stops where it yields. All fibres belong to one
// thread.
class Fibre {
 public:
  Fibre();
  Fibre(const Fibre&) = delete;
  Fibre& operator=(const Fibre&) = delete;

  // What Resume begins with. A function that has not ended is given up: its objects are not destroyed.
  void Start(std::function<void()> function);
  // Runs on until the function yields or ends. Not from within a fibre.
  void Resume();
  bool ended() const { return ended_; }
  // Whether the function has used more stack than there is: then anything may have happened.
  bool overflowed() const;

  // Stops the fibre that runs.
  static void Yield();

 private:
  static constexpr std::size_t kStackBytes = std::size_t{64} << 10;

  static void Enter();
  void Leave();

  std::unique_ptr<std::byte[]> stack_;
  std::function<void()> function_;
  bool ended_ = true, fresh_ = true;
  ucontext_t context_;
  std::jmp_buf here_;
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_KERNELS_FIBRE_H_
