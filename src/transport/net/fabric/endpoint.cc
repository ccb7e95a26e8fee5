// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/net/fabric/endpoint.h"

#include <fmt/format.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <utility>

#include "sys/os/shared_library.h"
#include "transport/net/fabric/control.h"

namespace tutti::transport::net::fabric {
namespace {

constexpr const char* kLibrary = "libfabric.so.1";
constexpr std::size_t kCompletions = 512;
constexpr std::size_t kMostQueued = 256;  // operations of an endpoint, each way; providers offer more than one needs

template <class Function>
bool Find(const sys::SharedLibrary& library, const char* symbol, Function& to) {
  to = reinterpret_cast<Function>(library.Find(symbol));
  return to != nullptr;
}

// Errors that say something of the other side rather than of this one.
bool IsOfTheOther(int error) {
  constexpr int kErrors[] = {FI_ECONNRESET, FI_ECONNABORTED, FI_ECONNREFUSED, FI_ENOTCONN,    FI_EHOSTUNREACH,
                             FI_EHOSTDOWN,  FI_ENETUNREACH,  FI_ETIMEDOUT,    FI_ESHUTDOWN,   FI_EIO,
                             FI_EREMOTEIO,  FI_ECANCELED,    FI_EACCES,       FI_EKEYREJECTED};
  return std::ranges::find(kErrors, error) != std::end(kErrors);
}

}  // namespace

Result<Library> Library::Open() {
  const Result<sys::SharedLibrary> opened = sys::SharedLibrary::Open(kLibrary);
  if (!opened.ok()) {
    return Status(Code::kUnsupported,
                  fmt::format("libfabric cannot be loaded: {}; install libfabric1 (libfabric on Red Hat), "
                              "or add the folder of {} to LD_LIBRARY_PATH",
                              opened.status().message(), kLibrary));
  }
  Library library{.path = opened->path()};
  if (!Find(*opened, "fi_getinfo", library.getinfo) || !Find(*opened, "fi_freeinfo", library.freeinfo) ||
      !Find(*opened, "fi_dupinfo", library.dupinfo) || !Find(*opened, "fi_fabric", library.fabric) ||
      !Find(*opened, "fi_version", library.version) || !Find(*opened, "fi_strerror", library.strerror)) {
    return Status(
        Code::kUnsupported,
        fmt::format("{} is not libfabric: a function of it is missing; remove it from LD_LIBRARY_PATH", library.path));
  }
  if (library.version() < kApi) {
    return Status(Code::kUnsupported, fmt::format("libfabric {} ({}) is older than 1.17; install a newer release",
                                                  library.VersionText(), library.path));
  }
  return library;
}

std::string Library::VersionText() const { return fmt::format("{}.{}", FI_MAJOR(version()), FI_MINOR(version())); }

Domain::Domain(const Library& library, Info info)
    : library_(library),
      info_(std::move(info)),
      name_(fmt::format("{} on {}", info_->fabric_attr->prov_name, info_->domain_attr->name)) {}

Result<std::shared_ptr<Domain>> Domain::Open(const Library& library, const fi_info& info, int traffic_class) {
  std::shared_ptr<Domain> made(new Domain(library, Info(library.dupinfo(&info), {library.freeinfo})));
  fi_info* own = made->info();
  own->tx_attr->size = std::min(own->tx_attr->size, kMostQueued);
  own->rx_attr->size = std::min(own->rx_attr->size, kMostQueued);
  // The upper six bits of the IP header's byte.
  if (traffic_class >= 0) own->tx_attr->tclass = fi_tc_dscp_set(static_cast<std::uint8_t>(traffic_class >> 2));
  fid_fabric* fabric = nullptr;
  if (const int answer = library.fabric(own->fabric_attr, &fabric, nullptr); answer != 0)
    return made->Answer("fi_fabric", answer);
  made->fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  if (const int answer = fi_domain(fabric, own, &domain, nullptr); answer != 0)
    return made->Answer("fi_domain", answer);
  made->domain_.reset(domain);
  return made;
}

Status Domain::Answer(const char* function, long answer) const {
  return Status(Code::kSystem,
                fmt::format("the network {} ({}) has answered {} with: {}; FI_LOG_LEVEL=warn makes libfabric say "
                            "why",
                            "Libfabric", name_, function, library_.strerror(static_cast<int>(-answer))));
}

Status Domain::Lost(int error, const char* said) const {
  return Status(
      IsOfTheOther(error) ? Code::kRemote : Code::kSystem,
      fmt::format("data over the network {} ({}) have not arrived: {} ({}); look at the other host and at the network "
                  "between, FI_LOG_LEVEL=warn makes libfabric say more",
                  "Libfabric", name_, library_.strerror(error), said != nullptr ? said : "no more is known"));
}

Result<std::unique_ptr<Endpoint>> Endpoint::Open(std::shared_ptr<Domain> domain) {
  std::unique_ptr<Endpoint> made(new Endpoint(std::move(domain)));
  const Domain& owner = *made->domain_;
  fi_cq_attr of_completions{};
  of_completions.size = kCompletions;
  of_completions.format = FI_CQ_FORMAT_DATA;
  of_completions.wait_obj = FI_WAIT_NONE;
  fid_cq* completions = nullptr;
  if (const int answer = fi_cq_open(owner.get(), &of_completions, &completions, nullptr); answer != 0) {
    return owner.Answer("fi_cq_open", answer);
  }
  made->completions_.reset(completions);
  fi_av_attr of_addresses{};
  of_addresses.type = FI_AV_TABLE;
  of_addresses.count = 4;
  fid_av* addresses = nullptr;
  if (const int answer = fi_av_open(owner.get(), &of_addresses, &addresses, nullptr); answer != 0) {
    return owner.Answer("fi_av_open", answer);
  }
  made->addresses_.reset(addresses);
  fid_ep* endpoint = nullptr;
  if (const int answer = fi_endpoint(owner.get(), owner.info(), &endpoint, nullptr); answer != 0) {
    return owner.Answer("fi_endpoint", answer);
  }
  made->endpoint_.reset(endpoint);
  int answer = fi_ep_bind(endpoint, &completions->fid, FI_TRANSMIT | FI_RECV);
  if (answer == 0) answer = fi_ep_bind(endpoint, &addresses->fid, 0);
  if (answer != 0) return owner.Answer("fi_ep_bind", answer);
  if ((answer = fi_enable(endpoint)) != 0) return owner.Answer("fi_enable", answer);
  return made;
}

Result<std::vector<std::byte>> Endpoint::Name() const {
  std::vector<std::byte> name(kNameBytes);
  std::size_t bytes = name.size();
  if (const int answer = fi_getname(&endpoint_->fid, name.data(), &bytes); answer != 0) {
    return domain_->Answer("fi_getname", answer);
  }
  name.resize(bytes);
  return name;
}

Result<fi_addr_t> Endpoint::TakeIn(std::span<const std::byte> name) {
  // Providers read as much as their addresses have, whatever has come.
  std::vector<std::byte> whole(2 * kNameBytes);
  std::ranges::copy(name.first(std::min(name.size(), kNameBytes)), whole.begin());
  fi_addr_t address = FI_ADDR_UNSPEC;
  const int taken = fi_av_insert(addresses_.get(), whole.data(), 1, &address, 0, nullptr);
  if (taken != 1) return domain_->Answer("fi_av_insert", taken < 0 ? taken : -FI_EINVAL);
  return address;
}

Result<Memory> Endpoint::Register(std::span<std::byte> memory) {
  constexpr std::uint64_t kAccess = FI_SEND | FI_RECV | FI_WRITE | FI_REMOTE_WRITE;
  fid_mr* region = nullptr;
  if (const int answer =
          fi_mr_reg(domain_->get(), memory.data(), memory.size(), kAccess, 0, domain_->NextKey(), 0, &region, nullptr);
      answer != 0) {
    return domain_->Answer("fi_mr_reg", answer);
  }
  Memory made{Owned<fid_mr>(region)};
  if (domain_->has(FI_MR_ENDPOINT)) {
    int answer = fi_mr_bind(region, &endpoint_->fid, 0);
    if (answer == 0) answer = fi_mr_enable(region);
    if (answer != 0) return domain_->Answer("fi_mr_enable", answer);
  }
  if (made.Key() == FI_KEY_NOTAVAIL) return domain_->Answer("fi_mr_key", -FI_ENOKEY);
  return made;
}

Result<std::size_t> Endpoint::Poll(std::span<fi_cq_data_entry> to, Operation** failed) {
  const ssize_t came = fi_cq_read(completions_.get(), to.data(), to.size());
  if (came >= 0) return static_cast<std::size_t>(came);
  if (came == -FI_EAGAIN) return std::size_t{0};
  if (came != -FI_EAVAIL) return domain_->Answer("fi_cq_read", came);
  fi_cq_err_entry error{};
  const ssize_t read = fi_cq_readerr(completions_.get(), &error, 0);
  if (read == -FI_EAGAIN) return std::size_t{0};
  if (read < 0) return domain_->Answer("fi_cq_readerr", read);
  *failed = static_cast<Operation*>(error.op_context);
  return domain_->Lost(error.err, fi_cq_strerror(completions_.get(), error.prov_errno, error.err_data, nullptr, 0));
}

}  // namespace tutti::transport::net::fabric
