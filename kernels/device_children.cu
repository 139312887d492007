#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "core/error.h"
#include "device_children.cuh"
#include "persistent_grid.cuh"
#include "word_tile_cuda.cuh"

namespace warpmer::gpu {

namespace {

using table::ChildInFrame;
using table::ChildReport;
using table::ChildShape;
using table::ChildStep;
using table::ChildTable;
using table::Key32;

constexpr unsigned kThreads = 256;
/// 32 bytes of a bucket to a lane (docs/benchmarks.md, "Hash tables").
constexpr int kLanes = 8, kSlotsPerLane = table::kChildBucket / kLanes;
constexpr unsigned kGroups = kThreads / kLanes;
/// What a block counts children in: its static shared memory.
constexpr std::uint32_t kMostChildren = 8192;

using ChangingTile = CudaWordTile<kLanes, kSlotsPerLane, Reading::changing>;
using FinishedTile = CudaWordTile<kLanes, kSlotsPerLane, Reading::finished>;

template <class T>
__device__ T tile_of_this_group() {
  return T(cg::tiled_partition<kLanes>(cg::this_thread_block()));
}

/// Adds up what a block's groups have seen, and then the blocks.
class BlockReport {
 public:
  __device__ explicit BlockReport(ChildReport* report) : report_(report) {
    if (threadIdx.x == 0) sums() = {};
    __syncthreads();
  }
  /// One lane of each group.
  __device__ void add(const ChildReport& mine) const {
    add(&sums().left, mine.left);
    add(&sums().filled, mine.filled);
    add(&sums().found, mine.found);
  }
  /// All threads, in the end.
  __device__ void finish() const {
    __syncthreads();
    if (threadIdx.x != 0) return;
    add(&report_->left, sums().left);
    add(&report_->filled, sums().filled);
    add(&report_->found, sums().found);
  }

 private:
  __device__ static ChildReport& sums() {
    __shared__ std::uint64_t memory[sizeof(ChildReport) / sizeof(std::uint64_t)];
    return *reinterpret_cast<ChildReport*>(memory);
  }
  __device__ static void add(std::uint64_t* sum, std::uint64_t n) {
    if (n > 0) atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(n));
  }
  ChildReport* report_;
};

template <ChildStep kStep>
__global__ void __launch_bounds__(kThreads)
    update_kernel(ChildInFrame child, std::uint64_t* updates, const std::uint32_t* order, std::size_t begin,
                  std::size_t end, ChildReport* report) {
  constexpr bool kIsLast = kStep != ChildStep::place;
  const auto tile = tile_of_this_group<ChangingTile>();
  const ChildTable<ChangingTile> table(child);
  const BlockReport sums(report);
  ChildReport mine;
  const std::size_t stride = std::size_t{gridDim.x} * kGroups;
  for (std::size_t i = begin + std::size_t{blockIdx.x} * kGroups + threadIdx.x / kLanes; i < end;
       i += stride) {
    std::uint64_t* const update = updates + (order == nullptr ? i : order[i]);
    table::ChildOutcome outcome = table.serve<kStep>(tile, *update);
    if (!outcome.is_mine) continue;
    outcome.is_done = outcome.is_done || !kIsLast;  // what has no place is told once
    mine.note(outcome);
    tile.group.sync();
    if (kIsLast && outcome.is_done && tile.group.thread_rank() == 0) *update = table::kEmptyWord;
  }
  if (tile.group.thread_rank() == 0) sums.add(mine);
  sums.finish();
}

/// A lane reads a word of the image, which may be the host's memory, and the group takes one after the other.
__global__ void __launch_bounds__(kThreads)
    pour_kernel(ChildInFrame child, const std::uint64_t* image, std::size_t words, ChildReport* report) {
  const auto tile = tile_of_this_group<ChangingTile>();
  const ChildTable<ChangingTile> table(child);
  const BlockReport sums(report);
  ChildReport mine;
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  const unsigned rank = tile.group.thread_rank();
  for (std::size_t first = std::size_t{blockIdx.x} * kThreads + threadIdx.x - rank; first < words;
       first += stride) {
    const unsigned long long read = first + rank < words ? image[first + rank] : table::kEmptyWord;
    for (int lane = 0; lane < kLanes; ++lane) {
      const std::uint64_t entry = tile.group.shfl(read, lane);
      if (table::key_of(entry) == table::kEmptyKey<Key32> || !table.takes_over(entry)) continue;
      mine.note(table.serve<ChildStep::insert>(tile, entry));
    }
  }
  if (rank == 0) sums.add(mine);
  sums.finish();
}

/// Queries of one batch may be asked of several children side by side; one of them, at most, masks a query.
__global__ void __launch_bounds__(kThreads)
    find_kernel(ChildInFrame child, Key32* queries, const std::uint32_t* order, std::size_t begin,
                std::size_t end, std::uint32_t* answers, ChildReport* report) {
  const auto tile = tile_of_this_group<FinishedTile>();
  const ChildTable<FinishedTile> table(child);
  const BlockReport sums(report);
  ChildReport mine;
  const std::size_t stride = std::size_t{gridDim.x} * kGroups;
  for (std::size_t i = begin + std::size_t{blockIdx.x} * kGroups + threadIdx.x / kLanes; i < end;
       i += stride) {
    const std::size_t query = order == nullptr ? i : order[i];
    // One lane reads it: another child may be masking it, and all lanes have to see the same.
    Key32 key = 0;
    if (tile.group.thread_rank() == 0) key = *const_cast<const volatile Key32*>(queries + query);
    key = tile.group.shfl(key, 0);
    if (!table.is_asked(key)) continue;
    const std::uint32_t value = table.find(tile, key);
    if (value == 0) continue;
    ++mine.found;
    if (tile.group.thread_rank() != 0) continue;
    answers[query] = value;
    *const_cast<volatile Key32*>(queries + query) = table::kEmptyKey<Key32>;
  }
  if (tile.group.thread_rank() == 0) sums.add(mine);
  sums.finish();
}

__global__ void __launch_bounds__(kThreads) clear_kernel(std::uint64_t* words, std::size_t n) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += stride)
    words[i] = table::kEmptyWord;
}

__device__ Key32 key_of_item(std::uint64_t pair) { return table::key_of(pair); }
__device__ Key32 key_of_item(Key32 key) { return key; }

/// Counts the operations of each child in a block's part of the items.
template <class Item>
__device__ void count_part(const Item* items, std::size_t begin, std::size_t end,
                           const table::ChildDirectoryView<Key32>& directory, std::uint32_t children,
                           std::uint32_t* counts) {
  for (std::uint32_t child = threadIdx.x; child < children; child += kThreads) counts[child] = 0;
  __syncthreads();
  for (std::size_t i = begin + threadIdx.x; i < end; i += kThreads) {
    const Key32 key = key_of_item(items[i]);
    if (key != table::kEmptyKey<Key32>) atomicAdd(counts + directory.child_of(key), 1u);
  }
  __syncthreads();
}

template <class Item>
__global__ void __launch_bounds__(kThreads)
    count_kernel(const Item* items, std::size_t n, table::ChildDirectoryView<Key32> directory,
                 std::uint32_t children, std::uint32_t* sums) {
  __shared__ std::uint32_t counts[kMostChildren];
  count_part(items, n * blockIdx.x / gridDim.x, n * (blockIdx.x + 1) / gridDim.x, directory, children,
             counts);
  for (std::uint32_t child = threadIdx.x; child < children; child += kThreads) {
    if (counts[child] > 0) atomicAdd(sums + child, counts[child]);
  }
}

/// `next`: where each child's operations go in the order; in the end, where they end.
template <class Item>
__global__ void __launch_bounds__(kThreads)
    order_kernel(const Item* items, std::size_t n, table::ChildDirectoryView<Key32> directory,
                 std::uint32_t children, std::uint32_t* next, std::uint32_t* order) {
  __shared__ std::uint32_t places[kMostChildren];
  const std::size_t begin = n * blockIdx.x / gridDim.x, end = n * (blockIdx.x + 1) / gridDim.x;
  count_part(items, begin, end, directory, children, places);
  for (std::uint32_t child = threadIdx.x; child < children; child += kThreads) {
    if (places[child] > 0) places[child] = atomicAdd(next + child, places[child]);
  }
  __syncthreads();
  for (std::size_t i = begin + threadIdx.x; i < end; i += kThreads) {
    const Key32 key = key_of_item(items[i]);
    if (key != table::kEmptyKey<Key32>)
      order[atomicAdd(places + directory.child_of(key), 1u)] = static_cast<std::uint32_t>(i);
  }
}

/// Copies the updates that still wait, in any order.
__global__ void __launch_bounds__(kThreads)
    keep_kernel(const std::uint64_t* updates, std::size_t n, std::uint64_t* kept, std::uint32_t* size) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += stride) {
    if (updates[i] == table::kEmptyWord) continue;
    const auto others = cg::coalesced_threads();
    std::uint32_t first = 0;
    if (others.thread_rank() == 0) first = atomicAdd(size, others.num_threads());
    kept[others.shfl(first, 0) + others.thread_rank()] = updates[i];
  }
}

/// Enough blocks for so many items, of which each takes so many; no more than the device holds at once, which
/// it is asked only once: that takes as long as a small launch.
template <auto kKernel>
std::uint32_t blocks_for(std::size_t items, std::size_t per_block) {
  static const std::uint32_t most = persistent_grid(kKernel, kThreads, 0);
  return static_cast<std::uint32_t>(std::clamp<std::size_t>((items + per_block - 1) / per_block, 1, most));
}

}  // namespace

DeviceChildren::DeviceChildren(std::uint32_t frames, std::size_t frame_words, std::size_t batch,
                               std::uint32_t children)
    : frame_words_(frame_words), batch_(batch), updates_(batch) {
  if (batch > UINT32_MAX) throw InternalError("more operations in a batch than an order has numbers for");
  frames_.reserve(frames);
  for (std::uint32_t frame = 0; frame < frames; ++frame) {
    frames_.emplace_back(frame_words);
    fill_bytes(frames_[frame].report.data(), 0, 1, frames_[frame].stream);
  }
  for (std::uint32_t i = 0; i < children; ++i) spare_.emplace_back(frame_words);
  counters_.emplace_back(kMostChildren);
}

/// After an error, too, something may be under way in memory that is about to go.
DeviceChildren::~DeviceChildren() { settle(); }

void DeviceChildren::settle() noexcept {
  cudaStreamSynchronize(input_);
  for (const Frame& frame : frames_) cudaStreamSynchronize(frame.stream);
}

void DeviceChildren::make_image(std::uint32_t child) {
  if (child >= images_.size()) images_.resize(child + std::size_t{1});
  if (spare_.empty()) spare_.emplace_back(frame_words_);
  images_[child] = std::move(spare_.back());
  spare_.pop_back();
}

void DeviceChildren::drop_image(std::uint32_t child) {
  // Its last way back may not have ended: the next child waits for that in another stream.
  for (const Frame& frame : frames_) frame.stream.wait();
  spare_.push_back(std::move(images_[child]));
}

void DeviceChildren::swap_images(std::uint32_t a, std::uint32_t b) { std::swap(images_[a], images_[b]); }

void DeviceChildren::clear(std::uint32_t frame, const ChildShape& shape) {
  clear_kernel<<<blocks_for<clear_kernel>(shape.words(), kThreads), kThreads, 0,
                 DriverUse(frames_[frame].stream)>>>(frames_[frame].words.data(), shape.words());
  check_launch("emptying a child table");
}

/// The image may be on its way from another frame.
void DeviceChildren::read_after_write(std::uint32_t frame, const Image& image) const {
  check(cudaStreamWaitEvent(DriverUse(frames_[frame].stream), *image.written), "ordering streams");
}

void DeviceChildren::fetch(std::uint32_t frame, std::uint32_t child, const ChildShape& shape) {
  read_after_write(frame, images_[child]);
  copy_to_device(frames_[frame].words.data(), images_[child].words.data(), shape.words(),
                 frames_[frame].stream);
}

void DeviceChildren::write_back(std::uint32_t frame, std::uint32_t child, const ChildShape& shape) {
  copy_to_host(images_[child].words.data(), frames_[frame].words.data(), shape.words(),
               frames_[frame].stream);
  images_[child].written->record(frames_[frame].stream);
}

ChildInFrame DeviceChildren::at(std::uint32_t frame, ChildInFrame child) const {
  child.words = frames_[frame].words.data();
  return child;
}

void DeviceChildren::pour(std::uint32_t frame, const ChildInFrame& child, std::uint32_t image,
                          const ChildShape& shape) {
  read_after_write(frame, images_[image]);
  pour_kernel<<<blocks_for<pour_kernel>(shape.words(), kThreads), kThreads, 0,
                DriverUse(frames_[frame].stream)>>>(at(frame, child), images_[image].words.data(),
                                                    shape.words(), frames_[frame].report.data());
  check_launch("building a child table");
}

std::uint64_t* DeviceChildren::own_updates(std::uint32_t frame) const {
  return updates_.data() + frame * (batch_ / frames_.size());
}

template <ChildStep kStep>
void DeviceChildren::do_step(std::uint32_t frame, const ChildInFrame& child, bool own, std::size_t begin,
                             std::size_t end) {
  if (begin == end) return;
  update_kernel<kStep><<<blocks_for<update_kernel<kStep>>(end - begin, kGroups), kThreads, 0,
                         DriverUse(frames_[frame].stream)>>>(
      at(frame, child), own ? own_updates(frame) : updates_.data(), own ? nullptr : update_order_.data(),
      begin, end, frames_[frame].report.data());
  check_launch("updating a child table");
}

void DeviceChildren::update(std::uint32_t frame, const ChildInFrame& child, ChildStep step, std::size_t begin,
                            std::size_t end, bool own) {
  switch (step) {
    case ChildStep::place:
      return do_step<ChildStep::place>(frame, child, own, begin, end);
    case ChildStep::count:
      return do_step<ChildStep::count>(frame, child, own, begin, end);
    case ChildStep::insert:
      return do_step<ChildStep::insert>(frame, child, own, begin, end);
    case ChildStep::erase:
      return do_step<ChildStep::erase>(frame, child, own, begin, end);
  }
}

void DeviceChildren::find(std::uint32_t frame, const ChildInFrame& child, std::size_t begin,
                          std::size_t end) {
  if (begin == end) return;
  find_kernel<<<blocks_for<find_kernel>(end - begin, kGroups), kThreads, 0,
                DriverUse(frames_[frame].stream)>>>(
      at(frame, child), queries_.data(), queries_are_sorted_ ? query_order_.data() : nullptr, begin, end,
      answers_.data(), frames_[frame].report.data());
  check_launch("looking keys up in a child table");
}

ChildReport DeviceChildren::wait(std::uint32_t frame) {
  const Frame& one = frames_[frame];
  copy_to_host(one.told.data(), one.report.data(), 1, one.stream);
  fill_bytes(one.report.data(), 0, 1, one.stream);
  one.stream.wait();
  return one.told[0];
}

void DeviceChildren::bring_updates(const std::uint64_t* pairs, std::size_t n) {
  check(cudaMemcpyAsync(updates_.data() + waiting_, pairs, n * sizeof *pairs, cudaMemcpyDefault,
                        DriverUse(input_)),
        "copying to the GPU");
  input_.wait();
  waiting_ += n;
}

void DeviceChildren::bring_to_frame(std::uint32_t frame, const std::uint64_t* pairs, std::size_t n) {
  const Frame& one = frames_[frame];
  check(
      cudaMemcpyAsync(own_updates(frame), pairs, n * sizeof *pairs, cudaMemcpyDefault, DriverUse(one.stream)),
      "copying to the GPU");
  one.uploaded.record(one.stream);
}

void DeviceChildren::wait_for_input() {
  for (const Frame& frame : frames_) frame.uploaded.wait();  // passed at once when it was never recorded
}

template <class Item>
std::vector<std::size_t> DeviceChildren::sort(const Item* items, std::size_t n,
                                              DeviceArray<std::uint32_t>& order,
                                              const table::ChildDirectoryView<Key32>& directory) {
  const std::uint32_t children = 1 + *std::max_element(directory_.begin(), directory_.end());
  if (children > kMostChildren)
    throw ResourceError("a paged table on a GPU has at most " + std::to_string(kMostChildren) + " children");
  if (directories_.size() > 1) directories_.erase(directories_.begin(), directories_.end() - 1);
  order.reserve(std::max(n, batch_));
  // Few, large parts: each block goes through all children, too.
  constexpr std::size_t kItemsPerBlock = std::size_t{1} << 14;
  const std::uint32_t blocks = blocks_for<order_kernel<Item>>(n, kItemsPerBlock);
  std::uint32_t* const counters = counters_[0].data();
  std::vector<std::uint32_t> counts(children);
  fill_bytes(counters, 0, children, input_);
  count_kernel<<<blocks, kThreads, 0, DriverUse(input_)>>>(items, n, directory, children, counters);
  check_launch("counting the operations of child tables");
  copy_to_host(counts.data(), counters, children, input_);
  input_.wait();
  std::vector<std::size_t> begins(children + std::size_t{1});
  std::inclusive_scan(counts.begin(), counts.end(), begins.begin() + 1, std::plus<>(), std::size_t{0});
  std::copy(begins.begin(), begins.end() - 1, counts.begin());
  copy_to_device(counters, counts.data(), children, input_);
  order_kernel<<<blocks, kThreads, 0, DriverUse(input_)>>>(items, n, directory, children, counters,
                                                           order.data());
  check_launch("ordering operations by their child tables");
  sorted_.record(input_);
  for (const Frame& frame : frames_)
    check(cudaStreamWaitEvent(DriverUse(frame.stream), sorted_), "ordering streams");
  input_.wait();  // for `counts`
  return begins;
}

std::vector<std::size_t> DeviceChildren::sort_updates(const table::ChildDirectoryView<Key32>& directory) {
  return sort(updates_.data(), waiting_, update_order_, directory);
}

std::size_t DeviceChildren::keep_waiting() {
  kept_.reserve(batch_);
  std::uint32_t* const size = counters_[0].data();
  fill_bytes(size, 0, 1, input_);
  keep_kernel<<<blocks_for<keep_kernel>(waiting_, kThreads), kThreads, 0, DriverUse(input_)>>>(
      updates_.data(), waiting_, kept_.data(), size);
  check_launch("looking for what waits");
  std::uint32_t waiting = 0;
  copy_to_host(&waiting, size, 1, input_);
  input_.wait();
  std::swap(updates_, kept_);
  waiting_ = waiting;
  return waiting_;
}

void DeviceChildren::bring_queries(const Key32* keys, std::size_t n) {
  queries_.reserve(n);
  answers_.reserve(n);
  asked_ = n;
  queries_are_sorted_ = false;
  check(cudaMemcpyAsync(queries_.data(), keys, n * sizeof *keys, cudaMemcpyDefault, DriverUse(input_)),
        "copying to the GPU");
  fill_bytes(answers_.data(), 0, n, input_);
  sorted_.record(input_);
  for (const Frame& frame : frames_)
    check(cudaStreamWaitEvent(DriverUse(frame.stream), sorted_), "ordering streams");
}

std::vector<std::size_t> DeviceChildren::sort_queries(const table::ChildDirectoryView<Key32>& directory) {
  queries_are_sorted_ = true;
  return sort(queries_.data(), asked_, query_order_, directory);
}

void DeviceChildren::take_answers(std::uint32_t* answers, std::size_t n) {
  check(cudaMemcpyAsync(answers, answers_.data(), n * sizeof *answers, cudaMemcpyDefault, DriverUse(input_)),
        "copying from the GPU");
  input_.wait();
}

table::ChildDirectoryView<Key32> DeviceChildren::directory(const std::vector<std::uint32_t>& entries,
                                                           std::uint32_t bits) {
  if (directory_ != entries) {
    directory_ = entries;
    // Those before stay until operations are put in order the next time, when nobody reads them.
    directories_.emplace_back(entries.size());
    copy_to_device(directories_.back().data(), directory_.data(), directory_.size(), input_);
    input_.wait();
  }
  return {directories_.back().data(), bits};
}

std::size_t DeviceChildren::device_bytes() const {
  std::size_t bytes = updates_.bytes() + kept_.bytes() + update_order_.bytes() + query_order_.bytes() +
                      queries_.bytes() + answers_.bytes() + counters_[0].bytes();
  for (const Frame& frame : frames_) bytes += frame.words.bytes() + frame.report.bytes();
  for (const DeviceArray<std::uint32_t>& directory : directories_) bytes += directory.bytes();
  return bytes;
}

}  // namespace warpmer::gpu
