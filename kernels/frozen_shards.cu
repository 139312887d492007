#include <algorithm>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "core/error.h"
#include "engine/limits.h"
#include "frozen_shards.cuh"
#include "peers.cuh"
#include "upload_team.cuh"

namespace warpmer::gpu {

namespace {

/// The first shard of each GPU, and the end: shares of about the same size.
std::vector<std::uint32_t> share_out(const std::vector<std::uint64_t>& first, std::size_t gpus) {
  std::vector<std::uint32_t> begins(gpus + 1, static_cast<std::uint32_t>(first.size() - 1));
  for (std::size_t i = 0; i < gpus; ++i) {
    const auto at = std::lower_bound(first.begin(), first.end() - 1, first.back() * i / gpus);
    begins[i] = static_cast<std::uint32_t>(at - first.begin());
  }
  return begins;
}

}  // namespace

std::vector<std::uint64_t> shard_words(const index::IndexFile& index) {
  std::vector<std::uint64_t> words(index.params().shards());
  for (std::uint32_t s = 0; s < words.size(); ++s)
    words[s] = index::payload_layout(index.shape(s), index.params().k).words;
  return words;
}

std::vector<std::uint64_t> first_words(const index::IndexFile& index) {
  const std::vector<std::uint64_t> words = shard_words(index);
  std::vector<std::uint64_t> first(words.size() + 1);
  std::inclusive_scan(words.begin(), words.end(), first.begin() + 1);
  return first;
}

index::ShardView shard_of_words(const index::IndexFile& index, std::uint32_t shard, std::uint64_t words) {
  const index::ShardView view = index.shard(shard);
  if (view.payload_words != words)
    throw InternalError("a shard of " + index.path() + " has another size than its shape says");
  return view;
}

unsigned upload_threads(std::uint64_t words) {
  constexpr std::uint64_t kWordsPerThread = std::uint64_t{1} << 18;
  constexpr std::uint64_t kMostThreads = 16;
  return static_cast<unsigned>(
      std::min<std::uint64_t>({engine::usable_cores(), kMostThreads, 1 + words / kWordsPerThread}));
}

FrozenPayloads::FrozenPayloads(const index::IndexFile& index, const std::vector<int>& gpus)
    : k_(index.params().k), first_words_(first_words(index)), parts_(gpus.size()) {
  for (std::uint32_t s = 0; s < index.params().shards(); ++s) shapes_.push_back(index.shape(s));
  const std::vector<std::uint32_t> begins = share_out(first_words_, gpus.size());
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    Part& part = parts_[i];
    part.gpu = gpus[i];
    part.first_shard = begins[i];
    part.end_shard = begins[i + 1];
    const CurrentDevice current(part.gpu);
    const std::uint64_t base = first_words_[part.first_shard];
    const std::uint64_t words = first_words_[part.end_shard] - base;
    part.words.reserve(words + index::kReadAheadWords);
    const Stream stream;
    fill_bytes(part.words.data() + words, 0, index::kReadAheadWords, stream);
    UploadTeam team(index, upload_threads(words), nullptr);
    team.start(part.first_shard, part.end_shard, part.words.data());
    team.finish(stream);
    stream.wait();
  }
}

FrozenPayloads::~FrozenPayloads() {
  for (Part& part : parts_) {
    cudaSetDevice(part.gpu);
    part.words.reset();
  }
}

const FrozenPayloads::Part& FrozenPayloads::part_of(std::uint32_t shard) const {
  return *std::find_if(parts_.begin(), parts_.end(),
                       [&](const Part& part) { return shard < part.end_shard; });
}

index::ShardView FrozenPayloads::view(std::uint32_t shard) const {
  const Part& part = part_of(shard);
  return {shapes_[shard], part.words.data() + (first_words_[shard] - first_words_[part.first_shard]),
          first_words_[shard + 1] - first_words_[shard]};
}

template <class Key>
FrozenShards<Key>::FrozenShards(std::shared_ptr<const FrozenPayloads> payloads)
    : payloads_(std::move(payloads)) {
  static_assert(std::is_trivially_copyable_v<Reader>, "it is copied to the device");
  std::vector<Reader> readers;
  readers.reserve(payloads_->shards());
  for (std::uint32_t s = 0; s < payloads_->shards(); ++s)
    readers.emplace_back(payloads_->view(s), payloads_->k());
  readers_.reserve(readers.size());
  const Stream stream;
  copy_to_device(readers_.data(), readers.data(), readers.size(), stream);
  stream.wait();
}

template <class Key>
FrozenShards<Key>::FrozenShards(const index::IndexFile& index)
    : FrozenShards(std::make_shared<const FrozenPayloads>(index, std::vector<int>{current_gpu()})) {}

std::uint64_t frozen_shards_bytes(const index::IndexFile& index, std::uint32_t gpus) {
  const std::vector<std::uint64_t> first = first_words(index);
  const std::vector<std::uint32_t> begins = share_out(first, gpus);
  std::uint64_t words = 0;
  for (std::uint32_t i = 0; i < gpus; ++i) words = std::max(words, first[begins[i + 1]] - first[begins[i]]);
  return (words + index::kReadAheadWords) * sizeof(std::uint64_t) +
         index.params().shards() * sizeof(index::ShardReader<Key128>);
}

template class FrozenShards<Key64>;
template class FrozenShards<Key128>;

}  // namespace warpmer::gpu
