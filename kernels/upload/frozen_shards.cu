#include <algorithm>
#include <numeric>
#include <type_traits>
#include <vector>

#include "base/thread_team.h"
#include "host/limits.h"
#include "kernels/exchange/peers.cuh"
#include "kernels/upload/frozen_shards.cuh"
#include "kernels/upload/shard_uploader.cuh"
#include "mpi/transposition.h"

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

/// Copies the payloads of shards `first` to `end` - 1 to the current device, checking them.
void upload(const index::IndexFile& index, std::uint32_t first, std::uint32_t end, std::uint64_t* to,
            unsigned threads) {
  const Stream stream;
  ShardUploader team(index, threads, nullptr);
  team.start(first, end, to);
  team.finish(end, stream);
  stream.wait();
}

/// Calls `work(number)` for each GPU, while it is current, on a thread of its own. An error ends all soon
/// enough: each thread only waits for its own copies.
template <class Work>
void on_each(const std::vector<int>& gpus, Work&& work) {
  run_team(
      static_cast<unsigned>(gpus.size()),
      [&](unsigned number) {
        const CurrentDevice current(gpus[number]);
        work(number);
      },
      [] {});
}

}  // namespace

std::vector<std::uint64_t> shard_words(const index::IndexFile& index) {
  std::vector<std::uint64_t> words(index.params().shards());
  for (std::uint32_t s = 0; s < words.size(); ++s) words[s] = index.payload_words(s);
  return words;
}

std::vector<std::uint64_t> first_words(const index::IndexFile& index) {
  const std::vector<std::uint64_t> words = shard_words(index);
  std::vector<std::uint64_t> first(words.size() + 1);
  std::inclusive_scan(words.begin(), words.end(), first.begin() + 1);
  return first;
}

unsigned upload_threads(std::uint64_t words, std::size_t devices) {
  constexpr std::uint64_t kWordsPerThread = std::uint64_t{1} << 18;
  constexpr std::uint64_t kMostThreads = 16;
  const std::uint64_t cores = std::max<std::uint64_t>(1, host::usable_cores() / devices);
  return static_cast<unsigned>(std::min<std::uint64_t>({cores, kMostThreads, 1 + words / kWordsPerThread}));
}

FrozenPayloads::FrozenPayloads(const index::IndexFile& index, const std::vector<int>& gpus,
                               const std::vector<std::uint32_t>& begins)
    : params_(index.params()), first_words_(first_words(index)), parts_(gpus.size()) {
  if (params_.k > kMaxDenseK) {
    for (std::uint32_t s = 0; s < params_.shards(); ++s) sizes_.push_back(index.sizes(s));
  } else {
    shape_ = index.shape(0);
  }
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    PayloadPart& part = parts_[i];
    part.gpu = gpus[i];
    part.first_shard = begins[i];
    part.end_shard = begins[i + 1];
    const CurrentDevice current(part.gpu);
    const std::uint64_t words = first_words_[part.end_shard] - first_words_[part.first_shard];
    part.words.reserve(words + warpmer::kReadAheadWords);
    const Stream stream;
    fill_bytes(part.words.data() + words, 0, warpmer::kReadAheadWords, stream);
    stream.wait();
  }
}

FrozenPayloads::FrozenPayloads(const index::IndexFile& index, const std::vector<int>& gpus)
    : FrozenPayloads(index, gpus, share_out(first_words(index), gpus.size())) {
  on_each(gpus, [&](unsigned number) {
    const PayloadPart& part = parts_[number];
    const std::uint64_t words = first_words_[part.end_shard] - first_words_[part.first_shard];
    upload(index, part.first_shard, part.end_shard, part.words.data(), upload_threads(words, gpus.size()));
  });
}

std::vector<std::shared_ptr<const FrozenPayloads>> FrozenPayloads::copies(const index::IndexFile& index,
                                                                          Peers& peers) {
  const std::vector<std::uint64_t> first = first_words(index);
  const std::vector<std::uint32_t> begins = share_out(first, peers.size());
  const std::vector<std::uint32_t> whole = {0, index.params().shards()};
  std::vector<std::shared_ptr<const FrozenPayloads>> copies;
  std::vector<std::uint64_t*> words;
  for (const int gpu : peers.gpus()) {
    copies.emplace_back(new FrozenPayloads(index, {gpu}, whole));
    words.push_back(copies.back()->parts_.front().words.data());
  }
  on_each(peers.gpus(), [&](unsigned number) {
    const std::uint64_t begin = first[begins[number]], size = first[begins[number + 1]] - begin;
    upload(index, begins[number], begins[number + 1], words[number] + begin,
           upload_threads(size, peers.size()));
    const Stream stream;
    for (std::uint32_t step = 0; step + 1 < peers.size(); ++step) {
      const std::uint32_t target = mpi::ring_target(number, step, peers.size());
      peers.copy(words[target] + begin, target, words[number] + begin, number, size * sizeof(std::uint64_t),
                 stream);
    }
    stream.wait();
  });
  return copies;
}

FrozenPayloads::~FrozenPayloads() {
  for (PayloadPart& part : parts_) {
    cudaSetDevice(part.gpu);
    part.words.reset();
  }
}

std::vector<int> FrozenPayloads::gpus() const {
  std::vector<int> gpus;
  for (const PayloadPart& part : parts_) gpus.push_back(part.gpu);
  return gpus;
}

std::uint32_t FrozenPayloads::owner_of(std::uint32_t shard) const {
  const auto owner = std::find_if(parts_.begin(), parts_.end(),
                                  [&](const PayloadPart& part) { return shard < part.end_shard; });
  return static_cast<std::uint32_t>(owner - parts_.begin());
}

const std::uint64_t* FrozenPayloads::payload(std::uint32_t shard) const {
  const PayloadPart& part = parts_[owner_of(shard)];
  return part.words.data() + (first_words_[shard] - first_words_[part.first_shard]);
}

index::ShardView FrozenPayloads::entries() const {
  return {shape_, payload(0), static_cast<std::size_t>(first_words_.back())};
}

DeviceArray<groups::FlankLengths> length_table_on_device(std::uint32_t k) {
  const std::vector<groups::FlankLengths> made =
      groups::make_length_table(groups::GroupShape(k).flank_bases());
  DeviceArray<groups::FlankLengths> table(made.size());
  const Stream stream;
  copy_to_device(table.data(), made.data(), made.size(), stream);
  stream.wait();
  return table;
}

ShardTable::ShardTable(std::uint32_t most)
    : shards_(most), records_(most), made_shards_(most), made_records_(most) {
  static_assert(std::is_trivially_copyable_v<groups::ShardBits>, "it is copied to the device");
}

void ShardTable::set(std::uint32_t first, const std::vector<groups::ShardBits>& shards, cudaStream_t stream) {
  for (std::size_t i = 0; i < shards.size(); ++i) {
    made_shards_[i] = shards[i];
    made_records_[i] = groups::ShardRecord(shards[i]);
  }
  copy_to_device(shards_.data(), made_shards_.data(), shards.size(), stream);
  copy_to_device(records_.data(), made_records_.data(), shards.size(), stream);
  there_ = {shards_.data(), records_.data(), shards.empty() ? nullptr : shards.front().lengths, first,
            static_cast<std::uint32_t>(shards.size())};
}

FrozenShards::FrozenShards(std::shared_ptr<const FrozenPayloads> payloads)
    : payloads_(std::move(payloads)),
      lengths_(length_table_on_device(payloads_->params().k)),
      table_(payloads_->params().shards()) {
  const groups::GroupShape shape(payloads_->params().k);
  std::vector<groups::ShardBits> shards;
  shards.reserve(payloads_->params().shards());
  for (std::uint32_t s = 0; s < payloads_->params().shards(); ++s)
    shards.emplace_back(shape, payloads_->sizes(s), payloads_->payload(s), lengths_.data());
  const Stream stream;
  table_.set(0, shards, stream);
  stream.wait();
}

std::uint64_t frozen_shards_bytes(const index::IndexFile& index, std::uint32_t gpus) {
  const std::vector<std::uint64_t> first = first_words(index);
  const std::vector<std::uint32_t> begins = share_out(first, gpus);
  std::uint64_t words = 0;
  for (std::uint32_t i = 0; i < gpus; ++i) words = std::max(words, first[begins[i + 1]] - first[begins[i]]);
  return (words + warpmer::kReadAheadWords) * sizeof(std::uint64_t) +
         ShardTable::bytes(index.params().shards()) + kArrayRounding;
}

}  // namespace warpmer::gpu
