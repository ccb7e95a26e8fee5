// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "watch/abroad.h"

#include <algorithm>
#include <cstddef>

#include "base/bytes.h"
#include "sys/net/hello.h"

namespace tutti::watch {
namespace {

constexpr std::uint32_t kLooksVersion = 3;  // of what monitors of different hosts say to each other

}  // namespace

sys::HelloTerms Abroad::TermsOf(int rank) const {
  ByteWriter number;
  number.Number(static_cast<std::int32_t>(rank));
  const std::vector<std::byte> to = number.Take();
  const sys::Mac name = sys::ComputeMac(secret, {sys::Bytes("tutti looks"), to});
  sys::HelloTerms terms{.secret = sys::ComputeMac(secret, {sys::Bytes("tutti looks key"), to}),
                        .version = {.number = kLooksVersion, .name = version}};
  std::copy_n(name.begin(), terms.id.size(), terms.id.begin());
  return terms;
}

}  // namespace tutti::watch
