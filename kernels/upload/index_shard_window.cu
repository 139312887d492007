#include <algorithm>
#include <optional>

#include "kernels/upload/index_shard_window.cuh"
#include "kmer/bit_stream.h"

namespace warpmer::gpu {

IndexShardWindow::IndexShardWindow(const index::IndexFile& index, index::ShardRange shards,
                                   std::uint64_t words, unsigned threads)
    : shards_(shards),
      words_(words + warpmer::kReadAheadWords),
      places_(words),
      end_(shards.first),
      uploaders_(index, threads, nullptr) {
  // The words that are read behind a payload do not matter, but tools that look for such reads cannot know.
  const Stream stream;
  fill_bytes(words_.data(), 0, words_.size(), stream);
  stream.wait();
}

void IndexShardWindow::begin() {
  for (read_ahead(); !ahead_.empty(); read_ahead()) {
    const std::uint32_t part_end = ahead_.front();
    const std::optional<std::uint64_t> at = places_.take(first_words()[part_end] - first_words()[end_]);
    if (!at) return;
    parts_.push_back({end_, part_end, *at});
    uploaders_.place_next(words_.data() + *at, given_back_);
    end_ = part_end;
    ahead_.pop_front();
  }
}

/// Reads as many parts ahead as there are threads.
void IndexShardWindow::read_ahead() {
  while (ahead_.size() < uploaders_.threads()) {
    const std::uint32_t first = ahead_.empty() ? end_ : ahead_.back();
    if (first == shards_.end) return;
    ahead_.push_back(uploaders_.end_of_part(first, shards_.end));
    uploaders_.read_ahead(first, ahead_.back());
  }
}

const std::uint64_t* IndexShardWindow::payload(std::uint32_t shard) const {
  const WindowPart& part =
      *std::find_if(parts_.begin(), parts_.end(), [&](const WindowPart& some) { return shard < some.end; });
  return words_.data() + part.at + (first_words()[shard] - first_words()[part.first]);
}

void IndexShardWindow::give_back(std::uint32_t end, cudaStream_t stream) {
  const auto given_back = std::make_shared<Event>();
  given_back->record(stream);
  given_back_ = given_back;
  while (!parts_.empty() && parts_.front().end <= end) {
    parts_.pop_front();
    places_.give_back();
  }
  begin();
}

}  // namespace warpmer::gpu
