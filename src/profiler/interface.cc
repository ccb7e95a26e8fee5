// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Every version of the interface. Where versions differ, `if constexpr` says how.
#include "profiler/interface.h"

#include <cstring>

#include "profiler/profiler_log.h"

namespace tutti::profiler {
namespace {

// What version 4 is handed; false: it has no such event.
bool Translate(const Description& from, abi::Description<4>& to) {
  std::memset(&to, 0, sizeof(to));
  to.type = static_cast<std::uint8_t>(from.type);
  to.parent = from.parent;
  to.rank = from.rank;
  switch (from.type) {
    case abi::kGroup:
      return true;
    case abi::kColl:
      std::memcpy(&to.coll, &from.coll, sizeof(to.coll));
      to.parent = from.coll.parent_group;
      return true;
    case abi::kP2p:
      std::memcpy(&to.p2p, &from.p2p, sizeof(to.p2p));
      to.parent = from.p2p.parent_group;
      return true;
    case abi::kProxyOp:
      to.proxy_op = from.proxy_op;
      return true;
    case abi::kProxyStep:
      to.proxy_step = from.proxy_step;
      return true;
    case abi::kKernelCh:
      to.kernel_ch = from.kernel_ch;
      return true;
    default:
      return false;
  }
}

template <int kVersion>
class Adapter final : public Interface {
 public:
  explicit Adapter(const abi::Profiler<kVersion>* profiler) : profiler_(profiler) {}

  int version() const override { return kVersion; }
  std::string name() const override { return profiler_->name != nullptr ? profiler_->name : "without a name"; }
  std::string Lacks() const override {
    if (profiler_->init == nullptr) return "init";
    if (profiler_->startEvent == nullptr) return "startEvent";
    if (profiler_->stopEvent == nullptr) return "stopEvent";
    if (profiler_->recordEventState == nullptr) return "recordEventState";
    return profiler_->finalize == nullptr ? "finalize" : "";
  }

  abi::Result Init(const Audience& a, const char* name, int* mask, void** context) const override {
    if constexpr (kVersion == 4) {
      return profiler_->init(context, mask, name, a.communicator, a.hosts, a.ranks, a.rank, &LogLine);
    } else {
      return profiler_->init(context, a.communicator, mask, name, a.hosts, a.ranks, a.rank, &LogLine);
    }
  }

  abi::Result Start(void* context, const Description& description, void** event) const override {
    abi::Description<kVersion> own;
    if constexpr (kVersion == 4) {
      if (!Translate(description, own)) return abi::kSuccess;
    } else {
      static_assert(sizeof(own) == sizeof(description));
      std::memcpy(&own, &description, sizeof(own));
    }
    return profiler_->startEvent(context, event, &own);
  }
  abi::Result Stop(void* event) const override { return profiler_->stopEvent(event); }
  abi::Result Record(void* event, abi::State state, abi::StateArguments& arguments) const override {
    return profiler_->recordEventState(event, state, &arguments);
  }
  abi::Result Finalize(void* context) const override { return profiler_->finalize(context); }

 private:
  const abi::Profiler<kVersion>* const profiler_;
};

template <int kVersion>
std::shared_ptr<const Interface> Make(const void* table) {
  return std::make_shared<Adapter<kVersion>>(static_cast<const abi::Profiler<kVersion>*>(table));
}

}  // namespace

std::shared_ptr<const Interface> Adapt(int version, const void* table) {
  static_assert(abi::kOldest == 4 && abi::kNewest == 6);
  if (version == 4) return Make<4>(table);
  return version == 5 ? Make<5>(table) : Make<6>(table);
}

}  // namespace tutti::profiler
