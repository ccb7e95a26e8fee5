// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/fibre.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "tests/support/sanitizers.h"

namespace tutti::tests {
namespace {

Fibre* g_running = nullptr;
std::jmp_buf g_resumer;        // where Resume goes on
ucontext_t g_resumer_context;  // the same under AddressSanitizer

constexpr std::uint64_t kMark = 0x5374616b456e6421;  // at a stack's end

}  // namespace

// Contexts are entered by setcontext, which makes system calls, and left and entered again by longjmp, which makes none.
// AddressSanitizer knows stacks of contexts only.

Fibre::Fibre() : stack_(std::make_unique_for_overwrite<std::byte[]>(kStackBytes)) {
  std::memcpy(stack_.get(), &kMark, sizeof(kMark));
}

bool Fibre::overflowed() const { return std::memcmp(stack_.get(), &kMark, sizeof(kMark)) != 0; }

void Fibre::Start(std::function<void()> function) {
  function_ = std::move(function);
  if (!ended_) fresh_ = true;
  ended_ = false;
}

void Fibre::Enter() {
  while (true) {
    Fibre* self = g_running;
    self->function_();
    self->ended_ = true;
    self->Leave();
  }
}

void Fibre::Resume() {
  g_running = this;
  const bool fresh = std::exchange(fresh_, false);
  if (fresh) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack_.get();
    context_.uc_stack.ss_size = kStackBytes;
    context_.uc_link = nullptr;
    makecontext(&context_, &Fibre::Enter, 0);
  }
  if (kAddressSanitizer) {
    swapcontext(&g_resumer_context, &context_);
  } else if (_setjmp(g_resumer) == 0) {
    if (fresh) setcontext(&context_);
    _longjmp(here_, 1);
  }
  g_running = nullptr;
}

void Fibre::Leave() {
  if (kAddressSanitizer) {
    swapcontext(&context_, &g_resumer_context);
  } else if (_setjmp(here_) == 0) {
    _longjmp(g_resumer, 1);
  }
}

void Fibre::Yield() { g_running->Leave(); }

}  // namespace tutti::tests
