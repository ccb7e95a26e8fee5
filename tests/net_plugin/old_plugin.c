// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
// A library that has an interface older than any that is known.
const void* const ncclNetPlugin_v5[16] = {0};
