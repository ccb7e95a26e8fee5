// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PYTHON_SRC_CALL_SITES_H_
#define TUTTI_PYTHON_SRC_CALL_SITES_H_

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tutti/communicator.h"

namespace tutti::python {

// From which lines of the Python program a communicator's latest collectives were called. Peers on this host read it, when calls do not
// match, straight out of this process's memory, so writing it down costs no system call. Threads: all calls with the GIL held.
class CallSites {
 public:
  CallSites();

  // Collective: tells the ranks of `communicator` where they can read this, and learns the same of them. It is the first call on it, and
  // not one that the program counts.
  Status Exchange(Communicator& communicator);

  // The next collective is called from `frame`, a borrowed frame object; null: from nowhere that is known.
  void Note(PyObject* frame);
  // It was not called after all.
  void TakeBack() { --ring_->calls; }

  // "train.py:12": where `rank` has called its collective `number`, counted from 1. Empty where that is not known: it is too long ago, the
  // rank is on another host, or its memory may not be read.
  std::string Find(int rank, std::uint64_t number) const;

 private:
  static constexpr int kRemembered = 256;  // calls
  // Read by others, so it holds no pointers but to the process's table of texts.
  struct Ring {
    std::uint64_t calls = 0;
    std::uint64_t texts = 0;  // the address of the table
    std::uint32_t site[kRemembered] = {};
  };
  // Where a rank's ring is.
  struct Place {
    std::uint64_t host = 0;
    std::uint64_t name_space = 0;
    std::int64_t pid = 0;
    std::uint64_t address = 0;
  };
  std::uint32_t SiteOf(PyObject* frame);

  std::unique_ptr<Ring> ring_;
  std::vector<Place> places_;  // by rank
  Place own_;
  // The last call's: programs call from the same line again and again.
  PyObject* last_code_ = nullptr;
  long last_instruction_ = -1;
  std::uint32_t last_site_ = 0;
};

}  // namespace tutti::python

#endif  // TUTTI_PYTHON_SRC_CALL_SITES_H_
