// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/meet/rendezvous_terms.h"

#include <string_view>

#include "comm/identity/unique_id.h"
#include "comm/meet/bootstrap_message.h"

namespace tutti::comm {

sys::HelloTerms RendezvousTerms(const IdParts& id) {
  sys::HelloTerms terms;
  terms.id = id.name;
  const std::string_view purpose = "tutti rendezvous";
  terms.secret = sys::ComputeMac(id.secret, {sys::Bytes(purpose), id.name});
  terms.version = {.number = kBootstrapVersion, .name = TUTTI_VERSION};
  return terms;
}

}  // namespace tutti::comm
