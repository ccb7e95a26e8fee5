// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// libfabric in the shape of a network plugin.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "base/log.h"
#include "sys/os/process.h"
#include "sys/os/random_bytes.h"
#include "transport/net/fabric/connection.h"
#include "transport/net/fabric/fabric.h"
#include "transport/net/plugin/abi.h"

namespace tutti::transport::net::fabric {
namespace {

using plugin::Device;
using plugin::Handle;

constexpr std::size_t kMostAnswers = 8;

// Of one communicator. Its cards are opened when they are first used.
struct Context {
  std::mutex mutex;
  std::map<int, Domains> domains;                            // by device
  std::map<std::uint64_t, std::unique_ptr<SendSide>> calls;  // that were not answered yet
  std::uint64_t last_call = 0;
};

struct OpenGate {
  Context* context = nullptr;
  int device = 0;
  std::unique_ptr<Gate> gate;
  std::deque<std::unique_ptr<ReceiveSide>> answers;  // that have not gone out yet
};

Status HandleOfAnother() {
  return Status(Code::kInternal, "the network Libfabric was asked to go on with a call that it does not know");
}

class FabricNetwork final : public plugin::NetPlugin {
 public:
  FabricNetwork(Library library, Options options, std::vector<Info> rails)
      : library_(std::move(library)), options_(std::move(options)), rails_(std::move(rails)) {
    segment_bytes_ = std::max<std::size_t>(options_.segment_bytes, 1);
    for (const Info& rail : rails_) segment_bytes_ = std::min(segment_bytes_, rail->ep_attr->max_msg_size);
  }

  std::string name() const override { return kName; }
  std::string Title() const override {
    return fmt::format("{} ({} {}, provider {})", kName, library_.path, library_.VersionText(), provider());
  }
  std::string Protocol() const override { return fmt::format("{} ({})", kName, provider()); }
  std::string LoadedLine() const override {
    std::string cards;
    for (std::size_t i = 0; i < rails_.size(); ++i) cards += fmt::format(" [{}]{}", i, rails_[i]->domain_attr->name);
    return fmt::format("NET/{} : Using{}; provider {}, libfabric {} from {}", kName, cards, provider(),
                       library_.VersionText(), library_.path);
  }
  int most_requests() const override { return static_cast<int>(kSlots); }

  Status Init(std::uint64_t, int, void** context) override {
    *context = new Context;
    return Status::Ok();
  }
  void Finalize(void* context) override { delete static_cast<Context*>(context); }
  Result<int> CountDevices() override { return static_cast<int>((rails_.size() + kMostRails - 1) / kMostRails); }
  Result<Device> Describe(int device) override {
    Device described{.pointers = abi::kHostPointers, .max_comms = 1 << 16, .max_bytes = MostBytes()};
    for (const Info* rail : RailsOf(device)) {
      described.name += described.name.empty() ? "" : "+";
      described.name += (*rail)->domain_attr->name;
    }
    return described;
  }

  Result<void*> Listen(void* context, int device, Handle& handle) override {
    const Result<Domains> domains = DomainsOf(context, device);
    if (!domains.ok()) return domains.status();
    std::uint64_t token = 0;
    TUTTI_RETURN_IF_ERROR(sys::FillRandom(std::as_writable_bytes(std::span(&token, 1))));
    Result<std::unique_ptr<Gate>> gate = Gate::Open(domains->front(), token, handle);
    if (!gate.ok()) return gate.status();
    return static_cast<void*>(new OpenGate{static_cast<Context*>(context), device, std::move(*gate), {}});
  }

  Result<void*> Connect(void* context, int device, int, Handle& handle) override {
    Result<CallMe> place = ReadHandle(handle);
    if (!place.ok()) return place.status();
    if (place->call == 0) return Call(context, device, *place, handle);
    auto& own = *static_cast<Context*>(context);
    std::unique_lock lock(own.mutex);
    const auto found = own.calls.find(place->call);
    if (found == own.calls.end() || found->second->token() != place->token) return HandleOfAnother();
    SendSide* const side = found->second.get();
    lock.unlock();  // nobody else has this call
    const Result<bool> met = side->Meet();
    if (met.ok() && !*met) return static_cast<void*>(nullptr);
    lock.lock();
    std::unique_ptr<SendSide> done = std::move(own.calls.extract(place->call).mapped());
    lock.unlock();
    if (!met.ok()) return met.status();
    return static_cast<void*>(static_cast<Connection*>(done.release()));
  }

  Result<void*> Accept(void* listener) override {
    auto& own = *static_cast<OpenGate*>(listener);
    Introduction caller;
    const Result<bool> came = own.gate->Next(caller);
    if (!came.ok()) return came.status();
    if (*came) {
      const Result<Domains> domains = DomainsOf(own.context, own.device);
      if (!domains.ok()) return domains.status();
      Result<std::unique_ptr<ReceiveSide>> side = ReceiveSide::Answer(*domains, caller);
      if (!side.ok()) return side.status();
      if (own.answers.size() == kMostAnswers) own.answers.pop_front();
      own.answers.push_back(std::move(*side));
    }
    for (auto side = own.answers.begin(); side != own.answers.end(); ++side) {
      const Result<bool> met = (*side)->Meet();
      if (met.ok() && !*met) continue;
      std::unique_ptr<ReceiveSide> done = std::move(*side);
      own.answers.erase(side);
      // A caller that has gone away harms nobody else.
      if (!met.ok()) return static_cast<void*>(nullptr);
      return static_cast<void*>(static_cast<Connection*>(done.release()));
    }
    return static_cast<void*>(nullptr);
  }

  Result<void*> Register(void* comm, void* data, std::size_t bytes, int) override {
    Result<Registered*> memory = static_cast<Connection*>(comm)->Register({static_cast<std::byte*>(data), bytes});
    if (!memory.ok()) return memory.status();
    return static_cast<void*>(*memory);
  }
  Status Deregister(void* comm, void* memory) override {
    static_cast<Connection*>(comm)->Deregister(static_cast<Registered*>(memory));
    return Status::Ok();
  }

  Result<void*> Send(void* comm, const void* data, std::size_t bytes, int tag, void* memory) override {
    auto* const side = static_cast<SendSide*>(static_cast<Connection*>(comm));
    Result<Request*> request = side->Send({static_cast<const std::byte*>(data), bytes}, tag,
                                          *static_cast<Registered*>(memory), segment_bytes_);
    if (!request.ok()) return request.status();
    return static_cast<void*>(*request);
  }
  Result<void*> Receive(void* comm, void* data, std::size_t bytes, int tag, void* memory) override {
    auto* const side = static_cast<ReceiveSide*>(static_cast<Connection*>(comm));
    Result<Request*> request =
        side->Receive({static_cast<std::byte*>(data), bytes}, tag, *static_cast<Registered*>(memory));
    if (!request.ok()) return request.status();
    return static_cast<void*>(*request);
  }
  Result<void*> Flush(void*, void*, std::size_t, void*) override { return static_cast<void*>(nullptr); }
  // Not every provider says how long a remote write was.
  Result<bool> Test(void* request, std::int64_t* bytes) override {
    if (bytes != nullptr) *bytes = -1;
    auto& asked = *static_cast<Request*>(request);
    return asked.sends ? static_cast<SendSide*>(asked.of)->Test(asked)
                       : static_cast<ReceiveSide*>(asked.of)->Test(asked);
  }

  Status CloseSend(void* comm) override { return Close(comm); }
  Status CloseReceive(void* comm) override { return Close(comm); }
  Status CloseListener(void* listener) override {
    delete static_cast<OpenGate*>(listener);
    return Status::Ok();
  }

 private:
  static Status Close(void* comm) {
    delete static_cast<Connection*>(comm);
    return Status::Ok();
  }
  std::string provider() const { return rails_[0]->fabric_attr->prov_name; }
  std::size_t MostBytes() const {
    return std::min(abi::kMostBytes, segment_bytes_ > abi::kMostBytes / kMostSegments
                                         ? abi::kMostBytes
                                         : segment_bytes_ * (kMostSegments - kMostRails));
  }

  // As many for each device, as far as it goes.
  std::vector<const Info*> RailsOf(int device) const {
    std::vector<const Info*> rails;
    for (std::size_t i = static_cast<std::size_t>(device) * kMostRails; i < rails_.size() && rails.size() < kMostRails;
         ++i) {
      rails.push_back(&rails_[i]);
    }
    return rails;
  }

  Result<Domains> DomainsOf(void* context, int device) {
    auto& own = *static_cast<Context*>(context);
    std::lock_guard lock(own.mutex);
    Domains& domains = own.domains[device];
    if (!domains.empty()) return domains;
    Domains opened;
    for (const Info* rail : RailsOf(device)) {
      Result<std::shared_ptr<Domain>> domain = Domain::Open(library_, **rail, options_.traffic_class);
      if (!domain.ok()) return domain.status();
      opened.push_back(std::move(*domain));
    }
    domains = opened;
    return opened;
  }

  Result<void*> Call(void* context, int device, CallMe place, Handle& handle) {
    const Result<Domains> domains = DomainsOf(context, device);
    if (!domains.ok()) return domains.status();
    Result<std::unique_ptr<SendSide>> side = SendSide::Call(*domains, place);
    if (!side.ok()) return side.status();
    auto& own = *static_cast<Context*>(context);
    std::lock_guard lock(own.mutex);
    place.call = ++own.last_call;
    own.calls[place.call] = std::move(*side);
    std::memcpy(handle.bytes.data(), &place, sizeof(place));
    return static_cast<void*>(nullptr);
  }

  const Library library_;
  const Options options_;
  const std::vector<Info> rails_;
  std::size_t segment_bytes_ = 0;
};

Info Hints(const Library& library, const std::string& provider) {
  Info hints(library.dupinfo(nullptr), {library.freeinfo});
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->domain_attr->threading = FI_THREAD_SAFE;
  hints->domain_attr->cq_data_size = sizeof(std::uint32_t);
  if (!provider.empty()) hints->fabric_attr->prov_name = strdup(provider.c_str());
  return hints;
}

// The same as `info` with completions that say that data have arrived, where the provider has such: then what ends after its last
// completion loses nothing.
Info WithDelivery(const Library& library, const Info& info) {
  // What has left for shared memory is there; shm of libfabric 1.17 stops where completions wait for more.
  if (std::string_view(info->fabric_attr->prov_name) == "shm")
    return Info(library.dupinfo(info.get()), {library.freeinfo});
  Info hints = Hints(library, info->fabric_attr->prov_name);
  hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
  hints->domain_attr->name = strdup(info->domain_attr->name);
  fi_info* list = nullptr;
  if (library.getinfo(kApi, nullptr, nullptr, 0, hints.get(), &list) != 0) list = nullptr;
  const Info offered(list, {library.freeinfo});
  for (const fi_info* one = list; one != nullptr; one = one->next) {
    if (one->addr_format != info->addr_format || std::string_view(one->domain_attr->name) != info->domain_attr->name)
      continue;
    Info better(library.dupinfo(one), {library.freeinfo});
    better->tx_attr->op_flags |= FI_DELIVERY_COMPLETE;
    return better;
  }
  return Info(library.dupinfo(info.get()), {library.freeinfo});
}

Offer OfferOf(const fi_info& info) {
  const bool v4 = info.addr_format == FI_SOCKADDR_IN, v6 = info.addr_format == FI_SOCKADDR_IN6;
  return {.provider = info.fabric_attr->prov_name,
          .domain = info.domain_attr->name,
          .family = v4   ? Family::kV4
                    : v6 ? Family::kV6
                         : Family::kNone};
}

}  // namespace

Result<std::shared_ptr<plugin::NetPlugin>> Open(const Options& options) {
  const Result<Library> library = Library::Open();
  if (!library.ok()) return library.status();
  const Info hints = Hints(*library, options.provider);
  fi_info* list = nullptr;
  if (const int answer = library->getinfo(kApi, nullptr, nullptr, 0, hints.get(), &list); answer != 0) list = nullptr;
  const Info offered(list, {library->freeinfo});
  std::vector<Offer> offers;
  std::vector<const fi_info*> infos;
  for (const fi_info* one = list; one != nullptr; one = one->next) {
    offers.push_back(OfferOf(*one));
    infos.push_back(one);
  }
  const Result<std::vector<std::size_t>> chosen = ChooseRails(offers, options.rails);
  if (!chosen.ok()) return chosen.status();
  std::vector<Info> rails;
  for (const std::size_t i : *chosen) {
    rails.push_back(WithDelivery(*library, Info(library->dupinfo(infos[i]), {library->freeinfo})));
  }
  return std::shared_ptr<plugin::NetPlugin>(std::make_shared<FabricNetwork>(*library, options, std::move(rails)));
}

}  // namespace tutti::transport::net::fabric
