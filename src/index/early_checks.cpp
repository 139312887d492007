#include "index/early_checks.h"

#include <algorithm>
#include <system_error>

#include "kmer/bit_stream.h"

namespace warpmer::index {

namespace {

/// A thread takes a tenth of a millisecond to start, and this takes some milliseconds to check.
constexpr std::uint64_t kBytesOfThread = std::uint64_t{4} << 20;
/// Larger shards are checked where they are mapped: there is no room of their own for them.
constexpr std::uint64_t kMostReadWords = std::uint64_t{1} << 21;

}  // namespace

EarlyChecks::EarlyChecks(const IndexFile& index, unsigned threads) : index_(index) {
  try {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    // Those that have started do.
  }
}

EarlyChecks::~EarlyChecks() {
  is_over_ = true;
  for (std::thread& thread : threads_) thread.join();
}

unsigned EarlyChecks::useful_threads(const IndexFile& index, unsigned most) {
  return static_cast<unsigned>(std::min<std::uint64_t>(most, index.file_bytes() / kBytesOfThread));
}

void EarlyChecks::work() noexcept {
  try {
    std::vector<std::uint64_t> room;
    for (std::uint32_t shard; !is_over_ && (shard = next_++) < index_.params().shards();) {
      const std::uint64_t words = index_.payload_words(shard);
      if (words > kMostReadWords) {
        (void)index_.payload(shard);
        continue;
      }
      room.resize(std::max<std::uint64_t>(room.size(), words + kReadAheadWords));
      index_.read_payload(shard, room.data());
    }
  } catch (...) {
    is_over_ = true;
  }
}

}  // namespace warpmer::index
