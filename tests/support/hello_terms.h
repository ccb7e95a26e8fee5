// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_TESTS_SUPPORT_HELLO_TERMS_H_
#define TUTTI_TESTS_SUPPORT_HELLO_TERMS_H_

// What tests of hellos say in them.

#include <string_view>

#include "sys/net/hello.h"

namespace tutti::tests {

inline sys::NetMessage Text(std::string_view text) {
  const std::span<const std::byte> bytes = sys::Bytes(text);
  return {bytes.begin(), bytes.end()};
}

// Terms that fit each other where the secrets are the same.
inline sys::HelloTerms Terms(std::string_view payload, std::byte secret = std::byte{1}) {
  sys::HelloTerms terms;
  terms.id.fill(std::byte{0xab});
  terms.secret.fill(secret);
  terms.version = {.number = 3, .name = "0.1.0"};
  terms.payload = Text(payload);
  return terms;
}

}  // namespace tutti::tests

#endif  // TUTTI_TESTS_SUPPORT_HELLO_TERMS_H_
