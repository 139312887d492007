#include <cstddef>
#include <cstdint>
#include <system_error>

#include "file/output/shared_memory_file.h"
#include "host/limits.h"
#include "kernels/memory/current_device.cuh"
#include "kernels/upload/file_pages.cuh"
#include "kernels/upload/frozen_shards.cuh"
#include "system/huge_pages.h"

namespace warpmer::gpu {

namespace {

/// Whole pages.
struct Pages {
  explicit Pages(const index::IndexFile& index) {
    const std::uintptr_t page = system::page_bytes();
    const auto at = reinterpret_cast<std::uintptr_t>(index.all_payloads());
    begin = reinterpret_cast<void*>(at / page * page);
    bytes = at % page + first_words(index).back() * sizeof(std::uint64_t);
  }
  void* begin;
  std::size_t bytes;
};

}  // namespace

std::shared_ptr<FilePages> pages_to_pin(const index::IndexFile& index) {
  const std::uint64_t bytes = index.file_bytes();
  // A tmpfs holds its files in memory, which need not be free again.
  const bool has_room =
      file::SharedMemoryFile::is_one(index.path()) || bytes <= host::usable_memory_bytes() / 2;
  const bool may_pin = has_room && bytes <= host::allowed_memory_bytes() / 4;
  return may_pin && first_words(index).back() > 0 ? std::make_shared<FilePages>(index) : nullptr;
}

FilePages::~FilePages() {
  if (thread_.joinable()) thread_.join();
  if (!are_pinned_) return;
  const DriverLock::Shared use;
  cudaHostUnregister(Pages(index_).begin);
}

void FilePages::begin_to_pin() {
  std::call_once(begun_, [this] {
    try {
      thread_ = std::thread([this, gpu = current_gpu()] { pin(gpu); });
    } catch (const std::system_error&) {
      // Copied through buffers, as before.
    }
  });
}

void FilePages::pin(int gpu) {
  const Pages pages(index_);
  constexpr unsigned kFlags = cudaHostRegisterReadOnly | cudaHostRegisterPortable;
  const DriverLock::Shared use;
  if (cudaSetDevice(gpu) == cudaSuccess &&
      cudaHostRegister(pages.begin, pages.bytes, kFlags) == cudaSuccess) {
    are_pinned_ = true;
  } else {
    (void)cudaGetLastError();
  }
}

}  // namespace warpmer::gpu
