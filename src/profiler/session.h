// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PROFILER_SESSION_H_
#define TUTTI_PROFILER_SESSION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "profiler/interface.h"
#include "tutti/status.h"

namespace tutti::profiler {

// An event that was started, or none. A value; it may be kept for longer than the event lasts, since events below it name it later.
struct Event {
  void* handle = nullptr;    // the plugin's; null: there is none
  std::uint64_t number = 0;  // of the session's events, from 1
};

// A profiler plugin that has begun for one communicator. The plugin is called as NCCL calls it: init once, every event that was
// started is stopped once, finalize once and nothing after it. An event is sent where the plugin's mask has its type, or a type below
// it in the tree (abi.h): plugins find what they want by the events above it.
//
// Threads: any. A lock is held while the plugin works, so that nothing comes beside or behind finalize.
class Session {
 public:
  // `mask`: where the plugin writes what it wants; lives for ever. Null where the plugin wants no events of this communicator. kSystem:
  // its init has failed.
  static Result<std::shared_ptr<Session>> Begin(std::shared_ptr<const Interface> plugin, const Audience& audience,
                                                const int* mask);
  // Finalizes, unless that was done or the session was abandoned.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  int rank() const { return audience_.rank; }
  // Whether events of that type are sent now.
  bool Wants(abi::EventType type) const;
  // Whether the plugin asks for that type itself.
  bool AsksFor(abi::EventType type) const { return (Mask() & type) != 0; }

  // Starts an event: fills in `description`'s parent and rank. None where it is not wanted, or the plugin drops it.
  Event Start(Description& description, const Event& parent = {});
  // Both do nothing where the event is none, or was stopped.
  void Record(const Event& event, abi::State state, abi::StateArguments arguments = {});
  void Stop(const Event& event);

  // Stops all events that are open, the latest first, and ends. Afterwards nothing reaches the plugin any more.
  void Finalize();
  // In a forked child: forgets the plugin without a word to it.
  void Abandon();

 private:
  Session(std::shared_ptr<const Interface> plugin, const Audience& audience, const int* mask);
  unsigned Mask() const;

  const std::shared_ptr<const Interface> plugin_;
  const Audience audience_;
  const int* const mask_;
  std::mutex mutex_;
  // Guarded by mutex_.
  void* context_ = nullptr;  // null after Finalize
  std::uint64_t started_ = 0;
  std::map<std::uint64_t, void*> open_;  // handles by number
};

}  // namespace tutti::profiler

#endif  // TUTTI_PROFILER_SESSION_H_
