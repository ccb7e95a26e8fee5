// Copyright 2026 The Tutti Authors
// SPDX-License-Identifier: Apache-2.0
#ifndef TUTTI_BENCH_PEERS_PEER_H_
#define TUTTI_BENCH_PEERS_PEER_H_

// One way of measuring for every library that is compared. A peer program is one rank; it defines a class Library and
// calls peer::Main<Library>. The programs differ in nothing but that class, so a difference between their figures is a
// difference between the libraries.
//
// For each operation and size, on floats with sum:
//   check      one operation on values that sum exactly; every element of the result is compared
//   calibrate  ever longer batches, from one operation on, until one lasts about --batch-ms; this also warms up
//   settle     batches that do not count, for --settle-ms and --settle-operations, of long ones for 10 s at most: a library may try several
//              ways by the first calls of a size, as Tutti does (docs/decisions/0019-trials.md)
//   batch      some operations that do not count, for the caches; a barrier; k operations back to back, during which each
//              rank reads its own clock. The batch counts as the slowest rank's time / k. k comes from the calibration, is
//              equal on all ranks and 20 at least, as many as nccl-tests makes: the first ones of a batch find the caches as
//              other libraries have left them
//
// Buffers are ordinary page-aligned memory, or with --buffers library what the library has for messages; touched beforehand, reused by
// every operation, out of place except broadcast, which MPI only has in place.
// Bytes are counted as nccl-tests does: all_gather, reduce_scatter, gather, scatter and
// all_to_all count the side that holds all ranks' parts, the others the one buffer. In send_recv every rank sends to
// rank + 1 and receives from rank - 1 at the same time.
//
// By itself a program measures every size with --batches batches; rank 0 prints rows "op bytes ranks median_us min_us
// max_us k", one per line, flushed at once, so that a run that is cut short still counts; lines that start with '#' are
// remarks. With --turns SOCKET it does what is asked for there, one message a command, so that whoever asks can let several
// libraries take turns batch by batch; in between its ranks sleep:
//   to whoever asks   hello RANK VERSION      from every rank, once
//   to every rank     size OP BYTES           answered by rank 0: ready K BYTES, or unsupported, or wrong, or small (less
//                                             than an element per rank)
//                     batch                   answered by rank 0: us MICROSECONDS, of one operation
//   The end of the connection ends the program.
//
//   class Library {
//    public:
//     Library(int* argc, char*** argv);   // joins the group; exits the process with a sentence when it cannot
//     std::string Version() const;
//     int rank() const;
//     int ranks() const;
//     bool Supports(Op op) const;
//     void Barrier();
//     double Max(double value);           // the largest of all ranks' values, on all ranks
//     // A call that runs the operation once. in and out hold count elements, or count * ranks on the big side.
//     std::function<void()> Prepare(Op op, const float* in, float* out, std::size_t count);
//     void* Allocate(std::size_t bytes);  // optional: the library's own memory for messages, which it frees at its end
//     static constexpr bool kMovesOnly;   // optional: it computes nothing, and its values are not checked
//   };

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace peer {

enum class Op {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kAllToAll,
  kSendRecv,
};

struct OpTraits {
  Op op;
  const char* name;
  bool in_is_big;   // in holds ranks * count elements
  bool out_is_big;  // out holds ranks * count elements
};
inline constexpr std::array<OpTraits, 9> kOps = {{
    {Op::kAllReduce, "all_reduce", false, false},
    {Op::kAllGather, "all_gather", false, true},
    {Op::kReduceScatter, "reduce_scatter", true, false},
    {Op::kBroadcast, "broadcast", false, false},
    {Op::kReduce, "reduce", false, false},
    {Op::kGather, "gather", false, true},
    {Op::kScatter, "scatter", true, false},
    {Op::kAllToAll, "all_to_all", true, true},
    {Op::kSendRecv, "send_recv", false, false},
}};

inline constexpr int kRoot = 0;

struct Options {
  std::vector<OpTraits> ops{kOps.begin(), kOps.end()};
  std::size_t min_bytes = 8;
  std::size_t max_bytes = std::size_t{64} << 20;
  std::size_t factor = 2;
  int batches = 7;
  double batch_ms = 10;
  double settle_ms = 0;
  int settle_operations = 1260;
  bool buffers_of_library = false;
  std::string turns;  // a socket's path
};

// ---------------------------------------------------------------------------------------------------------------

[[noreturn]] inline void Usage(const char* program, const std::string& complaint) {
  std::fprintf(stderr, "%s: %s\n", program, complaint.c_str());
  std::fprintf(
      stderr,
      "usage: %s [--ops all_reduce,broadcast,...] [--min 8] [--max 64M] [--factor 2] [--batches 7] "
      "[--batch-ms 10] [--settle-ms 0] [--settle-operations 1260] [--buffers ordinary|library] [--turns SOCKET]\n",
      program);
  std::exit(2);
}

// "64", "8K", "4M", "1G"; 0 for anything else.
inline std::size_t ParseBytes(const std::string& text) {
  char* end = nullptr;
  const unsigned long long number = std::strtoull(text.c_str(), &end, 10);
  const std::string_view unit(end);
  if (unit.empty()) return number;
  if (unit == "K" || unit == "k") return number << 10;
  if (unit == "M" || unit == "m") return number << 20;
  if (unit == "G" || unit == "g") return number << 30;
  return 0;
}

inline std::vector<OpTraits> ParseOps(const char* program, const std::string& list) {
  std::vector<OpTraits> ops;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string name = list.substr(begin, end - begin);
    const auto found = std::find_if(kOps.begin(), kOps.end(), [&](const OpTraits& o) { return name == o.name; });
    if (found == kOps.end()) Usage(program, "no operation is called '" + name + "'");
    ops.push_back(*found);
    begin = end + 1;
  }
  return ops;
}

inline Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string key = argv[i];
    if (i + 1 == argc) Usage(argv[0], key + " needs a value");
    const std::string value = argv[i + 1];
    if (key == "--ops") {
      options.ops = ParseOps(argv[0], value);
    } else if (key == "--min") {
      options.min_bytes = ParseBytes(value);
    } else if (key == "--max") {
      options.max_bytes = ParseBytes(value);
    } else if (key == "--factor") {
      options.factor = ParseBytes(value);
    } else if (key == "--batches") {
      options.batches = std::atoi(value.c_str());
    } else if (key == "--batch-ms") {
      options.batch_ms = std::atof(value.c_str());
    } else if (key == "--settle-ms") {
      options.settle_ms = std::atof(value.c_str());
    } else if (key == "--settle-operations") {
      options.settle_operations = std::atoi(value.c_str());
    } else if (key == "--buffers" && (value == "ordinary" || value == "library")) {
      options.buffers_of_library = value == "library";
    } else if (key == "--buffers") {
      Usage(argv[0], "--buffers is ordinary or library, not " + value);
    } else if (key == "--turns") {
      options.turns = value;
    } else {
      Usage(argv[0], "unknown option " + key);
    }
  }
  if (options.min_bytes < sizeof(float) || options.max_bytes < options.min_bytes || options.factor < 2 ||
      options.batches < 1 || !(options.batch_ms > 0)) {
    Usage(argv[0], "needs 4 <= --min <= --max, --factor >= 2, --batches >= 1, --batch-ms > 0");
  }
  return options;
}

// Memory in which every page has been written: page-aligned, or as `library` makes it, where that has memory for messages.
class Buffer {
 public:
  template <typename Library>
  Buffer(Library& library, std::size_t bytes, bool of_library) {
    const std::size_t rounded = (bytes + 4095) / 4096 * 4096;
    if constexpr (requires { library.Allocate(rounded); }) {
      if (of_library) data_ = static_cast<float*>(library.Allocate(rounded));
    }
    if (data_ == nullptr) {
      own_.reset(std::aligned_alloc(4096, rounded));
      data_ = static_cast<float*>(own_.get());
    }
    if (data_ == nullptr) {
      std::fprintf(stderr, "cannot allocate %zu bytes; run with a smaller --max\n", rounded);
      std::exit(1);
    }
    std::memset(data_, 0, rounded);
  }
  float* data() const { return data_; }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> own_;
  float* data_ = nullptr;
};

// Element i of rank's input: a small whole number, so that every sum is exact, and different in neighbouring
// elements, ranks and blocks.
inline float Value(int rank, std::size_t i) { return static_cast<float>((i * 7 + i / 61) % 251 + 257 * rank); }

// What element i of this rank's output must be; `count` as in Prepare.
inline float Expected(Op op, int rank, int ranks, std::size_t i, std::size_t count) {
  const auto sum = [&](std::size_t index) {
    float total = 0;
    for (int r = 0; r < ranks; ++r) total += Value(r, index);
    return total;
  };
  switch (op) {
    case Op::kAllReduce:
    case Op::kReduce:
      return sum(i);
    case Op::kReduceScatter:
      return sum(rank * count + i);
    case Op::kAllGather:
    case Op::kGather:
      return Value(static_cast<int>(i / count), i % count);
    case Op::kBroadcast:
      return Value(kRoot, i);
    case Op::kScatter:
      return Value(kRoot, rank * count + i);
    case Op::kAllToAll:
      return Value(static_cast<int>(i / count), rank * count + i % count);
    case Op::kSendRecv:
      return Value((rank + ranks - 1) % ranks, i);
  }
  return 0;
}

template <typename Library>
class Bench {
 public:
  Bench(Library& library, const Options& options)
      : library_(library),
        options_(options),
        in_(library, options.max_bytes, options.buffers_of_library),
        out_(library, options.max_bytes, options.buffers_of_library) {}

  // False when a result was wrong on any rank.
  bool RunAll() {
    for (const OpTraits& traits : options_.ops) {
      for (std::size_t bytes = options_.min_bytes; bytes <= options_.max_bytes; bytes *= options_.factor) {
        const Prepared prepared = Prepare(traits, bytes);
        if (prepared == Prepared::kWrong) return false;
        if (prepared == Prepared::kUnsupported) {
          if (library_.rank() == 0) std::printf("# %s: this library has no such operation\n", traits.name);
          break;
        }
        if (prepared == Prepared::kReady) Measure(traits);
      }
    }
    return true;
  }

  // Does what the other end of --turns asks for, until that ends. False when a result was wrong on any rank.
  bool Follow() {
    const int turns = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    options_.turns.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (turns < 0 || connect(turns, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      std::perror(("--turns " + options_.turns).c_str());
      return false;
    }
    const auto answer = [&](const std::string& text) {
      return send(turns, text.data(), text.size(), MSG_NOSIGNAL) > 0;
    };
    answer("hello " + std::to_string(library_.rank()) + " " + library_.Version());
    bool right = true;
    std::array<char, 256> text;
    for (ssize_t size = 0; right && (size = recv(turns, text.data(), text.size(), 0)) > 0;) {
      const std::string reply = Obey(std::string(text.data(), size));
      right = reply != "wrong";
      if (library_.rank() == 0 && !answer(reply)) break;
    }
    close(turns);
    return right;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kFewestPerBatch = 20, kMostPerBatch = 1 << 20;
  enum class Prepared { kReady, kUnsupported, kWrong, kTooSmall };

  std::string Obey(const std::string& command) {
    if (command == "batch") return "us " + std::to_string(TimeBatch() * 1e3 / k_);
    std::array<char, 32> name = {};
    std::size_t bytes = 0;
    if (std::sscanf(command.c_str(), "size %31s %zu", name.data(), &bytes) != 2) return "what is '" + command + "'?";
    if (bytes > options_.max_bytes) return "more than --max";
    switch (Prepare(ParseOps("--turns", name.data()).front(), bytes)) {
      case Prepared::kReady:
        return "ready " + std::to_string(k_) + " " + std::to_string(bytes_);
      case Prepared::kUnsupported:
        return "unsupported";
      case Prepared::kTooSmall:
        return "small";
      case Prepared::kWrong:
        break;
    }
    return "wrong";
  }

  // Checks the operation, finds k_, the operations of a batch, and settles.
  Prepared Prepare(const OpTraits& traits, std::size_t bytes) {
    if (!library_.Supports(traits.op)) return Prepared::kUnsupported;
    const std::size_t parts = traits.in_is_big || traits.out_is_big ? library_.ranks() : 1;
    const std::size_t count = bytes / sizeof(float) / parts;
    if (count == 0) return Prepared::kTooSmall;
    // MPI's broadcast is in place, so everybody's is.
    float* in = traits.op == Op::kBroadcast ? out_.data() : in_.data();
    bytes_ = count * parts * sizeof(float);
    run_ = library_.Prepare(traits.op, in, out_.data(), count);
    if (!Check(traits, count, in)) return Prepared::kWrong;

    k_ = 1;
    for (double ms = TimeBatch(); ms < options_.batch_ms * 0.6 && k_ < kMostPerBatch; ms = TimeBatch()) {
      const double growth = std::clamp(options_.batch_ms / ms, 1.5, 4.0);
      k_ = std::min(kMostPerBatch, static_cast<int>(std::ceil(k_ * growth)));
    }
    k_ = std::max(kFewestPerBatch, k_);
    if (options_.settle_ms > 0) Settle();
    return Prepared::kReady;
  }

  void Settle() {
    constexpr double kMostMs = 10e3;
    int operations = 0;
    for (double ms = 0; (ms < options_.settle_ms || operations < options_.settle_operations) && ms < kMostMs;
         operations += k_) {
      ms += TimeBatch();
    }
  }

  void Measure(const OpTraits& traits) {
    std::vector<double> us;
    for (int i = 0; i < options_.batches; ++i) us.push_back(TimeBatch() * 1e3 / k_);
    std::sort(us.begin(), us.end());
    const double median = (us[us.size() / 2] + us[(us.size() - 1) / 2]) / 2;
    if (library_.rank() != 0) return;
    std::printf("%s %zu %d %.3f %.3f %.3f %d\n", traits.name, bytes_, library_.ranks(), median, us.front(), us.back(),
                k_);
    std::fflush(stdout);
  }

  // Milliseconds of the slowest rank for k_ operations; equal on all ranks.
  double TimeBatch() {
    for (int i = 0; i < std::max(1, k_ / 8); ++i) run_();
    library_.Barrier();
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < k_; ++i) run_();
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    return library_.Max(ms);
  }

  bool Check(const OpTraits& traits, std::size_t count, float* in) {
    if constexpr (requires { Library::kMovesOnly; }) return true;
    const int rank = library_.rank();
    const int ranks = library_.ranks();
    const std::size_t in_count = traits.in_is_big ? count * ranks : count;
    const std::size_t out_count = traits.out_is_big ? count * ranks : count;
    std::fill_n(out_.data(), out_count, -1.0f);
    for (std::size_t i = 0; i < in_count && (traits.op != Op::kBroadcast || rank == kRoot); ++i) {
      in[i] = Value(rank, i);
    }
    library_.Barrier();  // the machine's limit reads the others' inputs and writes their outputs
    run_();
    library_.Barrier();
    const bool has_result = rank == kRoot || (traits.op != Op::kReduce && traits.op != Op::kGather);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < out_count && has_result; ++i) {
      const float expected = Expected(traits.op, rank, ranks, i, count);
      if (out_.data()[i] == expected) continue;
      if (wrong++ == 0) {
        std::fprintf(stderr, "# WRONG %s, %zu elements, rank %d of %d: element %zu is %g, must be %g\n", traits.name,
                     count, rank, ranks, i, out_.data()[i], expected);
      }
    }
    return library_.Max(static_cast<double>(wrong)) == 0;
  }

  Library& library_;
  const Options& options_;
  Buffer in_;
  Buffer out_;
  // What Prepare prepared last.
  std::function<void()> run_;
  std::size_t bytes_ = 0;
  int k_ = 1;
};

// The program: 0 when all went well, 1 when a result was wrong, 2 for a wrong command line.
template <typename Library>
int Main(int argc, char** argv) {
  Library library(&argc, &argv);
  const Options options = ParseOptions(argc, argv);
  if (library.rank() == 0) std::printf("# library: %s\n", library.Version().c_str());
  Bench<Library> bench(library, options);
  const bool right = options.turns.empty() ? bench.RunAll() : bench.Follow();
  library.Barrier();
  return right ? 0 : 1;
}

}  // namespace peer

#endif  // TUTTI_BENCH_PEERS_PEER_H_
