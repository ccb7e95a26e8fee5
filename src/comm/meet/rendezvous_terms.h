// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_COMM_MEET_RENDEZVOUS_TERMS_H_
#define TUTTI_COMM_MEET_RENDEZVOUS_TERMS_H_

#include "sys/net/hello.h"

namespace tutti::comm {

struct IdParts;

// What a leader and the rendezvous prove to each other: that both know the id.
sys::HelloTerms RendezvousTerms(const IdParts& id);

}  // namespace tutti::comm

#endif  // TUTTI_COMM_MEET_RENDEZVOUS_TERMS_H_
