// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "base/float_types.h"
#include "exec/cpu/fold.h"
#include "plan/plan.h"
#include "tools/verify_data.h"

namespace tutti::tests {
namespace {

// A number as an element.
void Put(double value, DataType type, std::byte* at) {
  const auto put = [&](auto code) { std::memcpy(at, &code, sizeof(code)); };
  const auto single = static_cast<float>(value);
  switch (type) {
    case DataType::kFloat16:
      return put(FloatToHalf(single));
    case DataType::kFloat32:
      return put(single);
    case DataType::kFloat64:
      return put(value);
    case DataType::kBfloat16:
      return put(FloatToBfloat16(single));
    case DataType::kFloat8E4M3:
      return put(FloatToE4M3(single));
    case DataType::kFloat8E5M2:
      return put(FloatToE5M2(single));
    default: {
      const auto integer = static_cast<std::int64_t>(value);  // little-endian: the low bytes come first
      std::memcpy(at, &integer, SizeOf(type));
    }
  }
}

// Numbers whose sums and products are rounded.
void FillRough(std::byte* data, std::size_t count, DataType type, Random& random) {
  for (std::size_t i = 0; i < count; ++i) {
    const double value = (static_cast<double>(random.Next() >> 11) / (std::uint64_t{1} << 52) - 1.0) * 4.0;
    Put(value, type, data + i * SizeOf(type));
  }
}

void FillBits(std::byte* data, std::size_t bytes, Random& random) {
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(random.Next());
}

// The result of a step is rounded, so it depends on the order of a fold, unless the numbers are such that it does not.
void FillInput(const Call& call, int rank, int ranks, std::uint64_t seed, Random& random, Buffer& in) {
  const std::size_t count = in.bytes() / SizeOf(call.type);
  const bool moves = !Reduces(call.collective);
  const bool any_order = moves || IsInteger(call.type) || call.op == ReduceOp::kMax || call.op == ReduceOp::kMin;
  if (any_order) {
    FillBits(in.at(), in.bytes(), random);
  } else if (algo::Get(call.algorithm).rank_ordered(call.collective, ranks)) {
    FillRough(in.at(), count, call.type, random);
  } else {
    tools::FillInput(in.at(), 0, count, call.type, call.op, rank, ranks, seed);
  }
}

using Bytes = std::vector<std::byte>;

// The fold of all ranks' inputs, of as many elements as they have.
Bytes Folded(const Call& call, std::span<const Bytes> inputs, std::span<const double> scalars) {
  const std::size_t bytes = inputs[0].size(), count = bytes / SizeOf(call.type);
  std::vector<Bytes> scaled(inputs.begin(), inputs.end());
  const auto ranks = static_cast<int>(inputs.size());
  const bool average = call.op == ReduceOp::kAvg;
  std::vector<const void*> operands;
  for (std::size_t r = 0; r < inputs.size(); ++r) {
    if (call.op == ReduceOp::kPreMulSum) Scale(scaled[r].data(), inputs[r].data(), count, call.type, scalars[r]);
    if (average && !IsInteger(call.type)) Scale(scaled[r].data(), inputs[r].data(), count, call.type, 1.0 / ranks);
    operands.push_back(scaled[r].data());
  }
  Bytes result(bytes);
  GetFold(call.type, call.op)(result.data(), operands.data(), ranks, count, Stores::kCached);
  if (average && IsInteger(call.type)) DivideIntegers(result.data(), count, call.type, ranks);
  return result;
}

Bytes Piece(const Bytes& all, std::size_t piece, std::size_t bytes) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(piece * bytes);
  return {begin, begin + static_cast<std::ptrdiff_t>(bytes)};
}

// A rank's output.
Bytes Output(const Call& call, std::span<const Bytes> inputs, const Bytes& folded, int rank) {
  const std::size_t bytes = call.count * SizeOf(call.type);
  const auto root = static_cast<std::size_t>(call.root), own = static_cast<std::size_t>(rank);
  Bytes all;
  switch (call.collective) {
    case Collective::kAllReduce:
    case Collective::kReduce:
      return folded;
    case Collective::kReduceScatter:
      return Piece(folded, own, bytes);
    case Collective::kBroadcast:
      return inputs[root];
    case Collective::kScatter:
      return Piece(inputs[root], own, bytes);
    case Collective::kAllToAll:
      for (const Bytes& input : inputs)
        all.insert(all.end(), input.begin() + static_cast<std::ptrdiff_t>(own * bytes),
                   input.begin() + static_cast<std::ptrdiff_t>((own + 1) * bytes));
      return all;
    default:
      for (const Bytes& input : inputs) all.insert(all.end(), input.begin(), input.end());
      return all;
  }
}

// Who has an input and an output.
bool HasInput(const Call& call, int rank) {
  const bool from_root = call.collective == Collective::kBroadcast || call.collective == Collective::kScatter;
  return !from_root || rank == call.root;
}
bool HasOutput(const Call& call, int rank) {
  const bool to_root = call.collective == Collective::kReduce || call.collective == Collective::kGather;
  return !to_root || rank == call.root;
}

// Makes a rank's buffers: in place its pieces lie as NCCL has them.
void Place(const Call& call, int ranks, int rank, Random& random, Buffers& buffers) {
  const std::size_t piece = call.count * SizeOf(call.type), misalign = call.misalign * SizeOf(call.type);
  const auto r = static_cast<std::size_t>(rank);
  const std::size_t ins = static_cast<std::size_t>(plan::InPieces(call.collective, ranks));
  const std::size_t outs = static_cast<std::size_t>(plan::OutPieces(call.collective, ranks));
  const bool has_in = HasInput(call, rank), has_out = HasOutput(call, rank);
  if (call.in_place && has_in && has_out) {
    buffers.first[r] = Buffer(std::max(ins, outs) * piece, misalign, random);
    buffers.in[r] = buffers.first[r].at() + (outs > ins ? r * piece : 0);
    buffers.out[r] = buffers.first[r].at() + (ins > outs ? r * piece : 0);
    return;
  }
  if (has_in) buffers.first[r] = Buffer(ins * piece, misalign, random);
  if (has_out) buffers.second[r] = Buffer(outs * piece, misalign, random);
  buffers.in[r] = buffers.first[r].at();
  buffers.out[r] = buffers.second[r].at();
}

}  // namespace

std::string Describe(const Call& call) {
  if (call.form == Form::kGroup) {
    std::string text = fmt::format("sends in {} blocks{}:", call.blocks, call.whole_lines ? "" : ", no lines");
    for (const Transfer& t : call.transfers) text += fmt::format(" {}>{} {}", t.from, t.to, t.bytes);
    return text + (call.misalign != 0 ? ", misaligned" : "");
  }
  constexpr const char* kForm[kForms] = {"program", "batch", "relay", "group"};
  std::string text = fmt::format("{} {} {}", kForm[static_cast<int>(call.form)], algo::Get(call.algorithm).name,
                                 Name(call.collective));
  if (call.form == Form::kRelay) {
    text += fmt::format(" {} blocks", call.blocks);
  } else {
    text += fmt::format(" {} {} x {}", proto::Name(call.protocol), call.channels, call.threads);
  }
  text += fmt::format(", {} x {} {}, root {}", call.count, Name(call.type), Name(call.op), call.root);
  if (call.items > 1) text += fmt::format(", {} items", call.items);
  if (call.chunk_bytes != 0) text += fmt::format(", chunks of {}", call.chunk_bytes);
  if (call.in_place) text += ", in place";
  if (call.factor_in_memory) text += ", factor in memory";
  if (call.misalign != 0) text += ", misaligned";
  return text;
}

Buffer::Buffer(std::size_t bytes, std::size_t misalign, Random& random)
    : storage_(bytes + 4 * kAround + misalign), bytes_(bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
  at_ = storage_.data() + kAround + (kAround - address % kAround) + misalign;
  FillBits(at_ - kAround, kAround + bytes + kAround, random);  // the same wherever the storage lies
  before_ = storage_;
}

std::string Buffer::Compare() const {
  const auto begin = static_cast<std::size_t>(at_ - storage_.data());
  for (std::size_t i = 0; i < storage_.size(); ++i) {
    const bool inside = i >= begin && i < begin + bytes_;
    if (inside && expected_.empty()) continue;
    const std::byte expected = inside ? expected_[i - begin] : before_[i];
    if (storage_[i] == expected) continue;
    if (!inside) return fmt::format("byte {} around a buffer was written", i);
    return fmt::format("byte {} of {} is {:#04x} and must be {:#04x}", i - begin, bytes_,
                       static_cast<unsigned>(storage_[i]), static_cast<unsigned>(expected));
  }
  return "";
}

Buffers MakeBuffers(const Call& call, int ranks, Random& random) {
  const auto n = static_cast<std::size_t>(ranks);
  Buffers buffers{std::vector<Buffer>(n),     std::vector<Buffer>(n), std::vector<std::byte*>(n),
                  std::vector<std::byte*>(n), std::vector<Buffer>(n), std::vector<double>(n, 1.0)};
  std::vector<Bytes> inputs(n);
  const std::uint64_t seed = random.Next();
  const std::size_t element = SizeOf(call.type), piece = call.count * element;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    Place(call, ranks, rank, random, buffers);
    if (call.op == ReduceOp::kPreMulSum) {
      buffers.scalars[r] = tools::PreMulScalar(rank);
      buffers.factors[r] = Buffer(element, element * random.Below(3), random);
      Bytes one(element);
      Put(buffers.scalars[r], call.type, one.data());
      std::memcpy(buffers.factors[r].at(), one.data(), element);
      buffers.factors[r].expected() = one;
    }
    if (buffers.in[r] == nullptr) continue;
    const std::size_t bytes = static_cast<std::size_t>(plan::InPieces(call.collective, ranks)) * piece;
    Buffer whole(bytes, 0, random);
    FillInput(call, rank, ranks, seed, random, whole);
    inputs[r].assign(whole.at(), whole.at() + bytes);
    std::memcpy(buffers.in[r], whole.at(), bytes);
  }
  const Bytes folded = Reduces(call.collective) ? Folded(call, inputs, buffers.scalars) : Bytes();
  for (std::size_t r = 0; r < n; ++r) {
    for (Buffer* buffer : {&buffers.first[r], &buffers.second[r]}) {
      if (buffer->at() != nullptr) buffer->expected().assign(buffer->at(), buffer->at() + buffer->bytes());
    }
    if (buffers.out[r] == nullptr) continue;
    Buffer& holder = buffers.second[r].at() != nullptr ? buffers.second[r] : buffers.first[r];
    if (call.collective == Collective::kBarrier) {
      holder.expected().clear();
      continue;
    }
    const Bytes output = Output(call, inputs, folded, static_cast<int>(r));
    std::memcpy(holder.expected().data() + (buffers.out[r] - holder.at()), output.data(), output.size());
  }
  return buffers;
}

Buffers MakeTransferBuffers(const Call& call, Random& random) {
  Buffers buffers;
  for (const Transfer& transfer : call.transfers) {
    Buffer& in = buffers.first.emplace_back(transfer.bytes, call.misalign * random.Below(5), random);
    Buffer& out = buffers.second.emplace_back(transfer.bytes, call.misalign * random.Below(5), random);
    in.expected().assign(in.at(), in.at() + in.bytes());
    out.expected() = in.expected();
    buffers.in.push_back(in.at());
    buffers.out.push_back(out.at());
  }
  return buffers;
}

}  // namespace tutti::tests
