#include <algorithm>
#include <atomic>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/thread_team.h"
#include "host/limits.h"
#include "kernels/live/child_kernels.cuh"
#include "kernels/live/device_children.cuh"
#include "kernels/memory/current_device.cuh"
#include "kernels/memory/persistent_grid.cuh"

namespace warpmer::gpu {

namespace {

using table::ChildShape;

}  // namespace

template <class Key>
DeviceChildren<Key>::DeviceChildren(std::uint32_t frames, std::size_t frame_bytes, std::size_t batch,
                                    std::uint32_t children, std::uint64_t most_image_bytes, Place place)
    : frame_bytes_(frame_bytes),
      batch_(batch),
      most_image_bytes_(most_image_bytes),
      place_(place),
      updates_(batch),
      counters_(kMostChildren) {
  if (batch > UINT32_MAX) throw InternalError("more operations in a batch than an order has numbers for");
  frames_.reserve(frames);
  for (std::uint32_t frame = 0; frame < frames; ++frame) {
    frames_.emplace_back(frame_bytes);
    fill_bytes(frames_[frame].report.data(), 0, 1, frames_[frame].stream);
    frames_[frame].stream.wait();  // before anything throws, and memory goes
  }
  for (std::uint32_t i = 0; i < children; ++i) spare_.push_back(make_sized(frame_bytes));
}

/// After an error, too, something may be under way in memory that is about to go.
template <class Key>
DeviceChildren<Key>::~DeviceChildren() {
  settle();
}

template <class Key>
void DeviceChildren<Key>::wait_for_frames() const {
  for (const ChildFrame& frame : frames_) frame.stream.wait();
}
/// Makes all work that is enqueued for any frame come after the work in `input_` now.
template <class Key>
void DeviceChildren<Key>::let_frames_follow() const {
  brought_.record(input_);
  for (const ChildFrame& frame : frames_) brought_.let_follow(frame.stream);
}

template <class Key>
void DeviceChildren<Key>::settle() noexcept {
  cudaStreamSynchronize(input_);
  for (const ChildFrame& frame : frames_) cudaStreamSynchronize(frame.stream);
}

template <class Key>
auto DeviceChildren<Key>::make_sized(std::size_t bytes) -> ChildImage {
  // Of the small, nothing is to grow.
  const std::uint64_t before = frame_bytes_ < kLargeImage ? frame_bytes_ : 0;
  check_image_bytes(before);
  ChildImage image(frame_bytes_);
  image_bytes_ += before;
  resize(image, bytes);
  return image;
}

template <class Key>
void DeviceChildren<Key>::check_image_bytes(std::uint64_t more) const {
  if (most_image_bytes_ == 0 || image_bytes_ + more <= most_image_bytes_) return;
  throw table::PagedTableFull(table::PagedTableFull::Reason::memory, {},
                              "child tables take more than the " + megabytes(most_image_bytes_) +
                                  " of host memory that there are for them");
}

template <class Key>
void DeviceChildren<Key>::resize(ChildImage& image, std::size_t bytes) {
  const std::uint64_t before = image.bytes(), after = image_bytes(bytes, frame_bytes_);
  if (after > before) check_image_bytes(after - before);
  image.resize(bytes);
  image_bytes_ += image.bytes() - before;
}

template <class Key>
void DeviceChildren<Key>::make_image(std::uint32_t child) {
  if (child >= images_.size()) images_.resize(child + std::size_t{1});
  if (spare_.empty()) spare_.push_back(make_sized(0));
  images_[child] = std::move(spare_.back());
  spare_.pop_back();
}

/// Side by side: the driver, too, takes its time for each.
template <class Key>
void DeviceChildren<Key>::fit_images(const std::vector<std::size_t>& bytes) {
  if (frame_bytes_ < kLargeImage) return;
  std::uint64_t all = 0;
  for (std::size_t child = 0; child < bytes.size(); ++child)
    all += image_bytes(bytes[child], frame_bytes_) - images_[child].bytes();
  check_image_bytes(all);
  const int gpu = current_gpu();
  std::atomic<std::size_t> next{0};
  run_team(
      std::min(host::usable_cores(), GrowingPages::kMostThreads),
      [&](unsigned /*number*/) {
        const CurrentDevice current(gpu);
        for (std::size_t i; (i = next.fetch_add(1)) < bytes.size();) images_[i].resize(bytes[i], 1);
      },
      [&] { next = bytes.size(); });
  image_bytes_ += all;
}

template <class Key>
void DeviceChildren<Key>::swap_images(std::uint32_t a, std::uint32_t b) {
  std::swap(images_[a], images_[b]);
}

template <class Key>
void DeviceChildren<Key>::clear(std::uint32_t frame, const ChildShape& shape) {
  clear_kernel<Key><<<blocks_for<clear_kernel<Key>>(shape.slots(), kChildThreads, kChildThreads),
                      kChildThreads, 0, DriverLock::Shared(frames_[frame].stream)>>>(
      table::Slots<Key>::in(frames_[frame].memory.data(), shape.slots()), shape.slots());
  check_launch("emptying a child table");
}

/// The image may be on its way from another frame.
template <class Key>
void DeviceChildren<Key>::read_after_write(std::uint32_t frame, const ChildImage& image) const {
  image.written->let_follow(frames_[frame].stream);
}

template <class Key>
void DeviceChildren<Key>::fetch(std::uint32_t frame, std::uint32_t child, const ChildShape& shape) {
  read_after_write(frame, images_[child]);
  images_[child].for_each_part(shape.template bytes<Key>(), [&](std::size_t begin, std::size_t end) {
    copy_to_device(frames_[frame].memory.data() + begin, images_[child].memory() + begin, end - begin,
                   frames_[frame].stream);
  });
}

/// This may give pages of the image back, or take more. Then the child has been built anew since the
/// image was read last, and that has been waited for. If the child is unchanged since it came, its image
/// already has the size; it may still be on its way here, and this comes after that.
template <class Key>
void DeviceChildren<Key>::write_back(std::uint32_t frame, std::uint32_t child, const ChildShape& shape) {
  resize(images_[child], shape.template bytes<Key>());
  images_[child].for_each_part(shape.template bytes<Key>(), [&](std::size_t begin, std::size_t end) {
    copy_to_host(images_[child].memory() + begin, frames_[frame].memory.data() + begin, end - begin,
                 frames_[frame].stream);
  });
  images_[child].written->record(frames_[frame].stream);
}

template <class Key>
auto DeviceChildren<Key>::at(std::uint32_t frame, Child child) const -> Child {
  child.memory = frames_[frame].memory.data();
  return child;
}

template <class Key>
void DeviceChildren<Key>::pour(std::uint32_t frame, const Child& child, const ChildShape& shape) {
  const ChildImage& image = images_[child.number];
  read_after_write(frame, image);
  pour_kernel<Key><<<blocks_for<pour_kernel<Key>>(shape.slots(), kChildThreads, kChildThreads), kChildThreads,
                     0, DriverLock::Shared(frames_[frame].stream)>>>(
      at(frame, child), table::Slots<Key>::in(image.memory(), shape.slots()), shape.slots(),
      frames_[frame].report.data());
  check_launch("building a child table");
}

template <class Key>
auto DeviceChildren<Key>::own_updates(std::uint32_t frame) const -> Update* {
  return updates_.data() + frame * (batch_ / frames_.size());
}

template <class Key>
template <ChildStep kStep>
void DeviceChildren<Key>::do_step(std::uint32_t frame, const Child& child, bool own, std::size_t begin,
                                  std::size_t end) {
  if (begin == end) return;
  update_kernel<Key, kStep><<<blocks_for<update_kernel<Key, kStep>>(end - begin, kChildGroups, kChildThreads),
                              kChildThreads, 0, DriverLock::Shared(frames_[frame].stream)>>>(
      at(frame, child), own ? own_updates(frame) : updates_.data(), own ? nullptr : update_order_.data(),
      begin, end, frames_[frame].report.data());
  check_launch("updating a child table");
}

template <class Key>
void DeviceChildren<Key>::update(std::uint32_t frame, const Child& child, ChildStep step, std::size_t begin,
                                 std::size_t end, bool own) {
  table::with_child_step<Key>(step,
                              [&](auto constant) { do_step<constant.value>(frame, child, own, begin, end); });
}

template <class Key>
void DeviceChildren<Key>::find(std::uint32_t frame, const Child& child, std::size_t begin, std::size_t end) {
  if (begin == end) return;
  find_kernel<Key><<<blocks_for<find_kernel<Key>>(end - begin, kChildGroups, kChildThreads), kChildThreads, 0,
                     DriverLock::Shared(frames_[frame].stream)>>>(
      at(frame, child), queries_.data(), queries_are_sorted_ ? query_order_.data() : nullptr, begin, end,
      answers_.data(), frames_[frame].report.data());
  check_launch("looking keys up in a child table");
}

template <class Key>
ChildReport DeviceChildren<Key>::wait(std::uint32_t frame) {
  const ChildFrame& one = frames_[frame];
  copy_to_host(one.told.data(), one.report.data(), 1, one.stream);
  fill_bytes(one.report.data(), 0, 1, one.stream);
  one.stream.wait();
  return one.told[0];
}

template <class Key>
void DeviceChildren<Key>::bring_updates(const Update* updates, std::size_t n) {
  copy_anywhere(updates_.data() + waiting_, updates, n, input_, "copying to the GPU");
  input_.wait();
  waiting_ += n;
}

template <class Key>
void DeviceChildren<Key>::bring_to_frame(std::uint32_t frame, const Update* updates, std::size_t n) {
  const ChildFrame& one = frames_[frame];
  copy_anywhere(own_updates(frame), updates, n, one.stream, "copying to the GPU");
  one.uploaded.record(one.stream);
}

template <class Key>
void DeviceChildren<Key>::wait_for_input() {
  for (const ChildFrame& frame : frames_) frame.uploaded.wait();  // passed at once when it was never recorded
}

template <class Key>
template <class Item>
std::vector<std::size_t> DeviceChildren<Key>::sort(const Item* items, std::size_t n,
                                                   DeviceArray<std::uint32_t>& order,
                                                   const Directory& directory) {
  const std::uint32_t children = 1 + *std::max_element(directory_.begin(), directory_.end());
  if (children > kMostChildren)
    throw ResourceError("a paged table on a GPU has at most " + std::to_string(kMostChildren) + " children");
  if (directories_.size() > 1) directories_.erase(directories_.begin(), directories_.end() - 1);
  order.reserve(std::max(n, batch_));
  // Few, large parts: each block goes through all children, too.
  constexpr std::size_t kItemsPerBlock = std::size_t{1} << 14;
  const std::uint32_t blocks = blocks_for<order_kernel<Key, Item>>(n, kItemsPerBlock, kChildThreads);
  std::uint32_t* const counters = counters_.data();
  std::vector<std::uint32_t> counts(children);
  fill_bytes(counters, 0, children, input_);
  count_kernel<Key>
      <<<blocks, kChildThreads, 0, DriverLock::Shared(input_)>>>(items, n, directory, children, counters);
  check_launch("counting the operations of child tables");
  copy_to_host(counts.data(), counters, children, input_);
  input_.wait();
  std::vector<std::size_t> begins(children + std::size_t{1});
  std::inclusive_scan(counts.begin(), counts.end(), begins.begin() + 1, std::plus<>(), std::size_t{0});
  std::copy(begins.begin(), begins.end() - 1, counts.begin());
  copy_to_device(counters, counts.data(), children, input_);
  order_kernel<Key><<<blocks, kChildThreads, 0, DriverLock::Shared(input_)>>>(items, n, directory, children,
                                                                              counters, order.data());
  check_launch("ordering operations by their child tables");
  let_frames_follow();
  input_.wait();  // for `counts`
  return begins;
}

template <class Key>
std::vector<std::size_t> DeviceChildren<Key>::sort_updates(const Directory& directory) {
  return sort(updates_.data(), waiting_, update_order_, directory);
}

template <class Key>
std::size_t DeviceChildren<Key>::keep_waiting() {
  kept_.reserve(batch_);
  std::uint32_t* const size = counters_.data();
  fill_bytes(size, 0, 1, input_);
  keep_kernel<Key><<<blocks_for<keep_kernel<Key>>(waiting_, kChildThreads, kChildThreads), kChildThreads, 0,
                     DriverLock::Shared(input_)>>>(updates_.data(), waiting_, kept_.data(), size);
  check_launch("looking for what waits");
  std::uint32_t waiting = 0;
  copy_to_host(&waiting, size, 1, input_);
  input_.wait();
  std::swap(updates_, kept_);
  waiting_ = waiting;
  return waiting_;
}

template <class Key>
void DeviceChildren<Key>::take_updates(Update* updates, std::size_t n) {
  copy_anywhere(updates, updates_.data(), n, input_, "copying from the GPU");
  input_.wait();
  forget_updates();
}

template <class Key>
void DeviceChildren<Key>::bring_queries(const Key* keys, std::size_t n) {
  queries_.reserve(n);
  answers_.reserve(n);
  asked_ = n;
  queries_are_sorted_ = false;
  copy_anywhere(queries_.data(), keys, n, input_, "copying to the GPU");
  fill_bytes(answers_.data(), 0, n, input_);
  let_frames_follow();
}

template <class Key>
std::vector<std::size_t> DeviceChildren<Key>::sort_queries(const Directory& directory) {
  queries_are_sorted_ = true;
  return sort(queries_.data(), asked_, query_order_, directory);
}

template <class Key>
void DeviceChildren<Key>::take_answers(std::uint32_t* answers, std::size_t n) {
  copy_anywhere(answers, answers_.data(), n, input_, "copying from the GPU");
  input_.wait();
}

template <class Key>
auto DeviceChildren<Key>::directory(const std::vector<std::uint32_t>& entries, std::uint32_t bits)
    -> Directory {
  if (directory_ != entries) {
    directory_ = entries;
    if (directories_.size() == kMostDirectories) {
      wait_for_frames();
      directories_.clear();
    }
    // Earlier ones stay until operations are put in order the next time, or until they are too many: a kernel
    // may be reading them.
    directories_.emplace_back(entries.size());
    copy_to_device(directories_.back().data(), directory_.data(), directory_.size(), input_);
    input_.wait();
  }
  return {directories_.back().data(), bits, place_};
}

template <class Key>
std::size_t DeviceChildren<Key>::device_bytes() const {
  std::size_t bytes = updates_.bytes() + kept_.bytes() + update_order_.bytes() + query_order_.bytes() +
                      queries_.bytes() + answers_.bytes() + counters_.bytes();
  for (const ChildFrame& frame : frames_) bytes += frame.memory.bytes() + frame.report.bytes();
  for (const DeviceArray<std::uint32_t>& directory : directories_) bytes += directory.bytes();
  return bytes;
}

template class DeviceChildren<Key32>;
template class DeviceChildren<Key64>;
template class DeviceChildren<Key128>;

}  // namespace warpmer::gpu
