// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0

// The face of libtutti.so without its body: every function that it shows, defined empty. Compiled with debug information it tells
// abidw all types that programs share with the library, and none of the library's own. run.py holds its symbols to those of the library.

#include <cstdlib>

#include "tutti/gpu.h"
#include "tutti/tutti.h"
#include "tutti/variable.h"

namespace tutti {

struct Communicator::Impl {};
struct GpuCommunicator::Impl {};
struct Request::Impl {};

const char* CodeName(Code) { std::abort(); }
const std::string& Status::message() const { std::abort(); }
std::string Status::ToString() const { std::abort(); }

std::string_view Name(DataType) { std::abort(); }
std::string_view Name(ReduceOp) { std::abort(); }
std::string_view Name(Collective) { std::abort(); }
std::optional<DataType> ParseDataType(std::string_view) { std::abort(); }
std::optional<ReduceOp> ParseReduceOp(std::string_view) { std::abort(); }
std::optional<Collective> ParseCollective(std::string_view) { std::abort(); }

Settings Settings::FromEnvironment() { std::abort(); }
std::string Settings::OriginOf(const std::string&) const { std::abort(); }

std::string UniqueId::ToHex() const { std::abort(); }
Result<UniqueId> UniqueId::FromHex(std::string_view) { std::abort(); }
Result<UniqueId> CreateUniqueId() { std::abort(); }

Request::Request() = default;
Request::Request(Request&&) noexcept = default;
Request& Request::operator=(Request&&) noexcept { std::abort(); }
Request::~Request() = default;
Request::Request(std::unique_ptr<Impl>) {}
Status Request::Test() { std::abort(); }
Status Request::Wait() { std::abort(); }

Result<Communicator> Communicator::Create(const CommunicatorOptions&) { std::abort(); }
Result<Communicator> Communicator::FromEnvironment(const Settings&) { std::abort(); }
Communicator::Communicator(Communicator&&) noexcept {}
Communicator& Communicator::operator=(Communicator&&) noexcept { std::abort(); }
Communicator::~Communicator() = default;
Communicator::Communicator(std::shared_ptr<Impl>) {}
int Communicator::rank() const { std::abort(); }
int Communicator::ranks() const { std::abort(); }
Status Communicator::Run(const Operation&) { std::abort(); }
Request Communicator::Start(const Operation&) { std::abort(); }
Status Communicator::RunGroup(std::span<const Operation>) { std::abort(); }
Request Communicator::StartGroup(std::span<const Operation>) { std::abort(); }
void Communicator::Abort(const std::string&) { std::abort(); }
StandingVerdict Communicator::WhoHoldsItUp() const { std::abort(); }
Result<Communicator> Communicator::Shrink(std::span<const int>) { std::abort(); }
Result<void*> Communicator::AllocateShared(std::size_t) { std::abort(); }
std::string Communicator::Explain(const Operation&) const { std::abort(); }
Status RunGroup(std::span<const GroupItem>) { std::abort(); }

Result<std::vector<Operation>> AllToAllV(const void*, std::size_t, std::span<const std::size_t>, void*, std::size_t,
                                         std::span<const std::size_t>, DataType) {
  std::abort();
}
Result<std::vector<Operation>> AllGatherV(const void*, std::size_t, void*, std::size_t, std::span<const std::size_t>,
                                          int, DataType) {
  std::abort();
}

Result<GpuCommunicator> GpuCommunicator::Create(Communicator&, const GpuOptions&) { std::abort(); }
GpuCommunicator::GpuCommunicator(GpuCommunicator&&) noexcept = default;
GpuCommunicator& GpuCommunicator::operator=(GpuCommunicator&&) noexcept { std::abort(); }
GpuCommunicator::~GpuCommunicator() = default;
GpuCommunicator::GpuCommunicator(std::unique_ptr<Impl>) {}
Status GpuCommunicator::Run(const Operation&, void*) { std::abort(); }
Status GpuCommunicator::RunGroup(std::span<const Operation>, void*) { std::abort(); }
Status GpuCommunicator::Check() { std::abort(); }
void GpuCommunicator::Abort(const std::string&) { std::abort(); }
std::string GpuCommunicator::Explain(const Operation&) { std::abort(); }
std::size_t GpuCommunicator::device_bytes() const { std::abort(); }
std::size_t GpuCommunicator::host_bytes() const { std::abort(); }

}  // namespace tutti
