/* Copyright 2026 The Tutti Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Somebody else's libnccl, for preload_command_test.cc.
 */
__attribute__((visibility("default"))) int ncclGetVersion(int* version);

int ncclGetVersion(int* version) {
  *version = 21805;
  return 0;
}
