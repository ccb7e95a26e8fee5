// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_NET_PLUGIN_SCRIPT_H_
#define TUTTI_TESTS_NET_PLUGIN_SCRIPT_H_

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>

namespace tutti::tests {

// What the scripted plugin does (scripted_plugin.cc), and what it has noticed. One for the process; a test sets it before it
// loads the plugin, by tutti_test_new_script(), or by the environment.
struct Script {
  static int Number(const char* variable, int otherwise) {
    const char* text = std::getenv(variable);
    return text != nullptr ? std::atoi(text) : otherwise;
  }

  // How often each call that may say "not yet" says so: connect and accept of each comm, isend and irecv of each message, test of
  // each request.
  int not_yet = Number("TUTTI_TEST_NOT_YET", 0);
  // The function of this name answers `error`, once it has worked `works` times.
  std::string fails;
  int works = 0;
  int error = 2;
  std::string lacks;          // the function that init leaves out
  bool nobody_comes = false;  // accept and connect are never done
  bool never_ends = false;    // no request ends
  bool tells_sizes = Number("TUTTI_TEST_SIZES", 1) != 0;
  int devices = 2;
  int device_type = 0;
  int pointers = 1;
  unsigned long long max_bytes = 1 << 20;
  bool edits_environment = false;

  // Counted.
  std::atomic<int> inits{0}, finalizes{0}, open_comms{0}, open_memory{0}, given_up{0};

  // What a host must not do, by name.
  void Notice(const char* fault) {
    std::lock_guard lock(mutex_);
    faults_.insert(fault);
  }
  std::set<std::string> faults() {
    std::lock_guard lock(mutex_);
    return faults_;
  }
  int CountCall(const std::string& function) {
    std::lock_guard lock(mutex_);
    return function == fails ? calls_++ : -1;
  }

 private:
  std::mutex mutex_;
  std::set<std::string> faults_;
  int calls_ = 0;  // of the function that fails
};

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_NET_PLUGIN_SCRIPT_H_
