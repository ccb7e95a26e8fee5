// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TRANSPORT_NET_FABRIC_ENDPOINT_H_
#define TUTTI_TRANSPORT_NET_FABRIC_ENDPOINT_H_

// libfabric's objects, as far as a connection needs them, each with an owner. Only builds with libfabric's headers have it.

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tutti/status.h"

namespace tutti::transport::net::fabric {

// The library's own functions; all others hang on the objects that these make.
struct Library {
  std::string path;
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_version) version = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;

  static Result<Library> Open();
  std::string VersionText() const;
};

inline constexpr std::uint32_t kApi = FI_VERSION(1, 17);

struct Close {
  template <class Object>
  void operator()(Object* object) const {
    (void)fi_close(&object->fid);
  }
};
template <class Object>
using Owned = std::unique_ptr<Object, Close>;

struct FreeInfo {
  decltype(&::fi_freeinfo) free = nullptr;
  void operator()(fi_info* info) const { free(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

// A network card. Threads: any.
class Domain {
 public:
  static Result<std::shared_ptr<Domain>> Open(const Library& library, const fi_info& info, int traffic_class);

  fi_info* info() const { return info_.get(); }
  fid_domain* get() const { return domain_.get(); }
  const std::string& name() const { return name_; }  // "tcp;ofi_rxm on eth0"
  bool has(int mr_mode) const { return (info_->domain_attr->mr_mode & mr_mode) != 0; }
  std::uint64_t NextKey() { return next_key_++; }
  // What a function has answered, which is a negative FI_ number.
  Status Answer(const char* function, long answer) const;
  // What has become of data, by the number of a completion's error.
  Status Lost(int error, const char* said) const;

 private:
  Domain(const Library& library, Info info);

  const Library library_;
  const Info info_;
  const std::string name_;
  Owned<fid_fabric> fabric_;
  Owned<fid_domain> domain_;  // goes before its fabric
  std::atomic<std::uint64_t> next_key_{1};
};

// What a completion points to. It stays until it has come.
struct Operation {
  fi_context2 scratch{};  // the provider's; first, as completions point to it
  enum class Kind : std::uint8_t { kSegment, kEntry, kIntroduction, kHeard } kind = Kind::kSegment;
  std::size_t slot = 0;
};

// Memory that an endpoint may send from, and others may write to.
struct Memory {
  Owned<fid_mr> region;
  void* Descriptor() const { return fi_mr_desc(region.get()); }
  std::uint64_t Key() const { return fi_mr_key(region.get()); }
};

// Threads: one at a time.
class Endpoint {
 public:
  static Result<std::unique_ptr<Endpoint>> Open(std::shared_ptr<Domain> domain);
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  const Domain& domain() const { return *domain_; }
  fid_ep* get() const { return endpoint_.get(); }
  // Its address, as others take it in.
  Result<std::vector<std::byte>> Name() const;
  Result<fi_addr_t> TakeIn(std::span<const std::byte> name);
  // REQUIRES: the memory goes before the endpoint where the domain has FI_MR_ENDPOINT, and after it else: nobody writes to it then.
  Result<Memory> Register(std::span<std::byte> memory);
  // Completions that have come; 0: none. A failed one is an error; `failed` is its operation, or null where it had none.
  Result<std::size_t> Poll(std::span<fi_cq_data_entry> to, Operation** failed);

 private:
  explicit Endpoint(std::shared_ptr<Domain> domain) : domain_(std::move(domain)) {}

  const std::shared_ptr<Domain> domain_;
  Owned<fid_cq> completions_;
  Owned<fid_av> addresses_;
  Owned<fid_ep> endpoint_;  // goes first
};

}  // namespace tutti::transport::net::fabric

#endif  // TUTTI_TRANSPORT_NET_FABRIC_ENDPOINT_H_
