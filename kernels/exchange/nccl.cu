#include <dlfcn.h>

#include <string>

#include "base/error.h"
#include "host/gpus.h"
#include "kernels/exchange/nccl.cuh"

namespace warpmer::gpu {

namespace {

constexpr const char* kLibrary = "libnccl.so.2";
constexpr int kLeastVersion = 21400;

/// One function of the library.
template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) {
    throw ResourceError("several ranks on GPUs need NCCL 2.14 or newer, and " + std::string(kLibrary) +
                        " has no " + name + "; install a newer one, or use --device cpu");
  }
}

}  // namespace

NcclLibrary::NcclLibrary() {
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw ResourceError("several ranks on GPUs need NCCL, which cannot be opened (" +
                        std::string(::dlerror()) +
                        "); install it, add its folder to LD_LIBRARY_PATH, or use --device cpu");
  }
  Result (*get_version)(int*) = nullptr;
  find(library, "ncclGetVersion", get_version);
  int version = 0;
  if (get_version(&version) != success || version < kLeastVersion) {
    throw ResourceError("several ranks on GPUs need NCCL 2.14 or newer, and " + std::string(kLibrary) +
                        " is of version " + std::to_string(version) +
                        "; install a newer one, or use --device cpu");
  }
  find(library, "ncclGetUniqueId", get_unique_id);
  find(library, "ncclCommInitRankConfig", init);
  find(library, "ncclCommGetAsyncError", async_error);
  find(library, "ncclCommAbort", abort_communicator);
  find(library, "ncclCommFinalize", finalize);
  find(library, "ncclCommDestroy", destroy);
  find(library, "ncclGroupStart", group_start);
  find(library, "ncclGroupEnd", group_end);
  find(library, "ncclSend", send);
  find(library, "ncclRecv", receive);
  find(library, "ncclGetErrorString", error_text);
}

const NcclLibrary& NcclLibrary::open() {
  static const NcclLibrary library;
  return library;
}

void NcclLibrary::check(Result result, const char* doing) const {
  if (result == success || result == in_progress) return;
  throw ResourceError("NCCL reports \"" + std::string(error_text(result)) + "\" while " + doing +
                      "; NCCL_DEBUG=WARN makes it say more, and --device cpu does without it");
}

}  // namespace warpmer::gpu

namespace warpmer::host {

std::string problem_of_ranks_on_gpus() {
  try {
    gpu::NcclLibrary::open();
    return "";
  } catch (const ResourceError& error) {
    return error.what();
  }
}

}  // namespace warpmer::host
