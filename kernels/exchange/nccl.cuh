#pragma once
/// NVIDIA's library of messages between GPUs, opened when ranks need it: neither building nor starting
/// warpmer does. What is declared here is the part of its documented interface that is used (NCCL user guide,
/// "API"), as it is since version 2.14.

#include <cuda_runtime.h>

#include <array>
#include <climits>
#include <cstddef>

namespace warpmer::gpu {

/// What all who join a communicator have to know.
struct NcclId {
  std::array<char, 128> bytes;
};

/// The functions of libnccl.so.2.
class NcclLibrary {
 public:
  /// Handles and codes as the library has them.
  using Communicator = void*;
  enum Result : int { success = 0, in_progress = 7 };
  /// The beginning of ncclConfig_t, and all of it that version 2.17 had: the library asks for its size, and
  /// takes what is not there as not set. Older ones take as much as they know.
  struct Config {
    static constexpr int kNotSet = INT_MIN;
    std::size_t size = sizeof(Config);
    unsigned magic = 0xcafebeef;
    unsigned version = 21700;
    int blocking = 0;  ///< calls that wait for others return `in_progress`, and can be aborted
    int cluster_size = kNotSet;
    int least_blocks = kNotSet;
    /// Blocks of a kernel, of which each has a channel to each other GPU. These take time to open: with all
    /// 32 that two H200s would have, the first exchange takes 0.2 s. These few still send what is cut from
    /// files as fast as it is cut.
    int most_blocks = 8;
    const char* network = nullptr;
  };
  static constexpr int kBytes = 1;  ///< ncclUint8

  /// ResourceError when it is not there, or too old.
  static const NcclLibrary& open();

  Result (*get_unique_id)(NcclId*);
  Result (*init)(Communicator*, int ranks, NcclId, int rank, Config*);
  Result (*async_error)(Communicator, Result*);
  Result (*abort_communicator)(Communicator);
  Result (*finalize)(Communicator);
  Result (*destroy)(Communicator);
  Result (*group_start)();
  Result (*group_end)();
  Result (*send)(const void*, std::size_t, int type, int to, Communicator, cudaStream_t);
  Result (*receive)(void*, std::size_t, int type, int from, Communicator, cudaStream_t);
  const char* (*error_text)(Result);

  /// Throws unless all is well, or on its way. ResourceError: what goes wrong between machines is the
  /// machines' affair.
  void check(Result result, const char* doing) const;

 private:
  NcclLibrary();
};

}  // namespace warpmer::gpu
