// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_SYS_NET_AUTH_H_
#define TUTTI_SYS_NET_AUTH_H_

// Keyed message authentication (BLAKE2b, of libsodium): who holds the key can make and check a code, who does
// not can do neither, nor find the key.

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>

#include "tutti/status.h"

namespace tutti::sys {

using Key = std::array<std::byte, 32>;
using Nonce = std::array<std::byte, 32>;  // random, used once: makes an overheard code worthless
using Mac = std::array<std::byte, 32>;

// A text as a part of what a code is made of.
inline std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

// The code of a list of parts under a key. The lengths of the parts count: {"ab", "c"} and {"a", "bc"}
// differ. REQUIRES of callers: the first part names the purpose, so that a code for one purpose never serves
// another.
Mac ComputeMac(const Key& key, std::initializer_list<std::span<const std::byte>> parts);

// Compares in a time that does not depend on where they differ.
bool SameMac(const Mac& a, const Mac& b);

Result<Nonce> FreshNonce();

}  // namespace tutti::sys

#endif  // TUTTI_SYS_NET_AUTH_H_
