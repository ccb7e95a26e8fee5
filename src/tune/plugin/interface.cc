// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// Every version of the interface. Where versions differ, `if constexpr` says how.
#include "tune/plugin/interface.h"

#include <utility>

#include "tune/plugin/tuner_log.h"

namespace tutti::tune::plugin {
namespace {

template <int kVersion>
class Adapter final : public Interface {
 public:
  explicit Adapter(const abi::Tuner<kVersion>* tuner) : tuner_(tuner) {}

  int version() const override { return kVersion; }
  std::string name() const override { return tuner_->name != nullptr ? tuner_->name : "without a name"; }
  std::string Lacks() const override {
    if (tuner_->init == nullptr) return "init";
    if (tuner_->getCollInfo == nullptr) return "getCollInfo";
    if constexpr (kVersion >= 5) {
      return tuner_->finalize == nullptr ? "finalize" : "";
    } else {
      return tuner_->destroy == nullptr ? "destroy" : "";
    }
  }

  abi::Result Init(const Audience& audience, abi::Constants& constants, void** context) const override {
    const auto ranks = static_cast<std::size_t>(audience.ranks), hosts = static_cast<std::size_t>(audience.hosts);
    if constexpr (kVersion >= 5) {
      abi::NvlDomainInfo domains{audience.hosts, audience.fewest_of_host, audience.most_of_host};
      return tuner_->init(context, audience.communicator, ranks, hosts, &LogLine, &domains, &constants);
    } else {
      return tuner_->init(ranks, hosts, &LogLine, context);
    }
  }

  abi::Result Ask(void* context, const Question& question, CostTable& table, int& channels) const override {
    const auto& [function, bytes, operations] = question;
    if constexpr (kVersion == 2) {
      return AskForOne(context, question, table, channels);
    } else {
      auto* const costs = reinterpret_cast<float**>(table.us.data());
      constexpr int kUnregistered = 0;
      if constexpr (kVersion == 3) {
        return tuner_->getCollInfo(context, function, bytes, operations, costs, abi::kAlgorithms, abi::kProtocols,
                                   &channels);
      } else {
        return tuner_->getCollInfo(context, function, bytes, operations, costs, abi::kAlgorithms, abi::kProtocols,
                                   kUnregistered, &channels);
      }
    }
  }

  abi::Result AskChunk(void* context, const Question& question, int algorithm, int protocol, int channels,
                       std::size_t& chunk_bytes) const override {
    if constexpr (kVersion >= 6) {
      if (tuner_->getChunkSize != nullptr) {
        return tuner_->getChunkSize(context, question.function, question.bytes, algorithm, protocol, channels,
                                    &chunk_bytes);
      }
    }
    return abi::kSuccess;
  }

  abi::Result End(void* context) const override {
    if constexpr (kVersion >= 5) {
      return tuner_->finalize(context);
    } else {
      return tuner_->destroy(context);
    }
  }

 private:
  // What is named in the answer costs 0, unless there is no such way.
  abi::Result AskForOne(void* context, const Question& question, CostTable& table, int& channels) const {
    const auto has = [&](int algorithm) { return table.us[algorithm][abi::kProtocols - 1] != abi::kNoWay; };
    int algorithm = -1, protocol = -1;
    const abi::Result result = tuner_->getCollInfo(
        context, question.function, question.bytes, has(abi::kCollNetChain) ? 1 : 0,
        has(abi::kNvls) || has(abi::kNvlsTree) ? 1 : 0, question.operations, &algorithm, &protocol, &channels);
    const bool in_table = algorithm >= 0 && algorithm < abi::kAlgorithms && protocol >= 0 && protocol < abi::kProtocols;
    if (result == abi::kSuccess && in_table && table.us[algorithm][protocol] != abi::kNoWay) {
      table.us[algorithm][protocol] = 0;
    }
    return result;
  }

  const abi::Tuner<kVersion>* const tuner_;
};

template <int kVersion>
std::shared_ptr<const Interface> Make(const void* table) {
  return std::make_shared<Adapter<kVersion>>(static_cast<const abi::Tuner<kVersion>*>(table));
}

template <int... kVersions>
std::shared_ptr<const Interface> AdaptOneOf(int version, const void* table, std::integer_sequence<int, kVersions...>) {
  std::shared_ptr<const Interface> made;
  ((version == abi::kOldest + kVersions ? void(made = Make<abi::kOldest + kVersions>(table)) : void()), ...);
  return made;
}

}  // namespace

std::shared_ptr<const Interface> Adapt(int version, const void* table) {
  return AdaptOneOf(version, table, std::make_integer_sequence<int, abi::kNewest - abi::kOldest + 1>());
}

}  // namespace tutti::tune::plugin
