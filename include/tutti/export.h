// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_EXPORT_H_
#define TUTTI_EXPORT_H_

// What libtutti.so shows to programs. Everything without this mark is hidden in it. Types with functions in the library carry it, and
// functions that are no members.
#define TUTTI_EXPORT [[gnu::visibility("default")]]
// For a type inside such a type that only the library itself knows.
#define TUTTI_HIDDEN [[gnu::visibility("hidden")]]

#endif  // TUTTI_EXPORT_H_
