// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// pugixml's object has XPath in it, whose `mod` calls fmod of the library of mathematics, and is linked as a whole. libnccl.so.2 may
// need libc alone, so it is linked with --wrap=fmod, which leads that call here. Nothing in Tutti uses XPath.
#include <limits>

// The remainder of x / y with the sign of x, exactly, as fmod defines it: a division by hand, bit by bit.
extern "C" double __wrap_fmod(double x, double y) {  // NOLINT(bugprone-reserved-identifier): the linker's name
  constexpr double kLargest = std::numeric_limits<double>::max();
  const double divisor = y < 0 ? -y : y;
  double rest = x < 0 ? -x : x;
  if (!(divisor > 0) || !(rest <= kLargest)) return std::numeric_limits<double>::quiet_NaN();
  if (rest < divisor) return x;
  double part = divisor;
  while (part <= rest / 2) part += part;
  for (; part >= divisor; part /= 2) {
    if (rest >= part) rest -= part;
  }
  return x < 0 ? -rest : rest;
}
