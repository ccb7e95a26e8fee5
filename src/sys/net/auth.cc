// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "sys/net/auth.h"

#include <sodium.h>

#include <cstdint>

#include "sys/os/random_bytes.h"

namespace tutti::sys {

Mac ComputeMac(const Key& key, std::initializer_list<std::span<const std::byte>> parts) {
  static_assert(sizeof(Mac) >= crypto_generichash_BYTES_MIN && sizeof(Mac) <= crypto_generichash_BYTES_MAX);
  static_assert(sizeof(Key) >= crypto_generichash_KEYBYTES_MIN && sizeof(Key) <= crypto_generichash_KEYBYTES_MAX);
  [[maybe_unused]] const int ready = sodium_init();
  // unused here
  crypto_generichash_state state;
  crypto_generichash_init(&state, reinterpret_cast<const unsigned char*>(key.data()), key.size(), sizeof(Mac));
  for (const std::span<const std::byte> part : parts) {
    const std::uint64_t length = part.size();
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(&length), sizeof(length));
    crypto_generichash_update(&state, reinterpret_cast<const unsigned char*>(part.data()), part.size());
  }
  Mac mac;
  crypto_generichash_final(&state, reinterpret_cast<unsigned char*>(mac.data()), mac.size());
  return mac;
}

bool SameMac(const Mac& a, const Mac& b) { return sodium_memcmp(a.data(), b.data(), a.size()) == 0; }

Result<Nonce> FreshNonce() {
  Nonce nonce;
  TUTTI_RETURN_IF_ERROR(FillRandom(nonce));
  return nonce;
}

}  // namespace tutti::sys
