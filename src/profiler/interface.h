// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_PROFILER_INTERFACE_H_
#define TUTTI_PROFILER_INTERFACE_H_

// A profiler plugin of any version in the shape of version 5, which has all events that Tutti sends. Version 4 knows no events of
// calls, and puts a Coll or P2p below its Group.

#include <cstdint>
#include <memory>
#include <string>

#include "profiler/abi.h"

namespace tutti::profiler {

// The communicator that a plugin is begun for.
struct Audience {
  std::uint64_t communicator = 0;  // the same number on all its ranks
  std::string name;                // that the user gave it; may be empty
  int hosts = 1;
  int ranks = 1;
  int rank = 0;
};

using Description = abi::Description<5>;

// Functions return numbers of ncclResult_t. Threads: any that the plugin takes.
class Interface {
 public:
  virtual ~Interface() = default;

  virtual int version() const = 0;
  virtual std::string name() const = 0;
  // A function that no plugin may lack and this one does; empty: none.
  virtual std::string Lacks() const = 0;

  // `name`: lives as long as the context; null where there is none. `context` stays null where the plugin wants no events.
  virtual abi::Result Init(const Audience& audience, const char* name, int* mask, void** context) const = 0;
  // `event` stays null where the plugin drops the event, or its version has none of this type.
  virtual abi::Result Start(void* context, const Description& description, void** event) const = 0;
  virtual abi::Result Stop(void* event) const = 0;
  virtual abi::Result Record(void* event, abi::State state, abi::StateArguments& arguments) const = 0;
  virtual abi::Result Finalize(void* context) const = 0;
};

// `table`: an abi::Profiler of that version, which must stay loaded. REQUIRES: a version from abi::kOldest to abi::kNewest.
std::shared_ptr<const Interface> Adapt(int version, const void* table);

}  // namespace tutti::profiler

#endif  // TUTTI_PROFILER_INTERFACE_H_
