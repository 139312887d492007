#pragma once
/// NVIDIA's library of messages between GPUs. It is opened when ranks need it; neither building nor starting
/// warpmer needs it. This declares the part of its documented interface that is used (NCCL user guide,
/// "API"), as it is since version 2.14.

#include <cuda_runtime.h>

#include <array>
#include <climits>
#include <cstddef>

namespace warpmer::gpu {

/// The identifier that all ranks that join a communicator have to know.
struct NcclId {
  std::array<char, 128> bytes;
};

/// The functions of libnccl.so.2.
class NcclLibrary {
 public:
  /// The library's types of handles and codes.
  using Communicator = void*;
  enum Result : int { success = 0, in_progress = 7 };
  /// The beginning of ncclConfig_t, which is all that version 2.17 had. The library asks for its size, and
  /// takes missing members as not set. Older versions take the members that they know.
  struct Config {
    static constexpr int kNotSet = INT_MIN;
    std::size_t size = sizeof(Config);
    unsigned magic = 0xcafebeef;
    unsigned version = 21700;
    int blocking = 0;  ///< 0: calls that wait for others return `in_progress`, and can be aborted
    int cluster_size = kNotSet;
    int least_blocks = kNotSet;
    /// The number of blocks of a kernel; each block has a channel to each other GPU. Channels take time to
    /// open: with all 32 that two H200s would have, the first exchange takes 0.2 s. These few still send
    /// words as fast as they are cut from files.
    int most_blocks = 8;
    const char* network = nullptr;
  };
  static constexpr int kBytes = 1;  ///< ncclUint8

  /// Opens the library. Throws a ResourceError when it is missing or too old.
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

  /// Throws a ResourceError unless `result` is success or in progress. It is a ResourceError because an error
  /// between machines is a fault of the machines.
  void check(Result result, const char* doing) const;

 private:
  NcclLibrary();
};

}  // namespace warpmer::gpu
