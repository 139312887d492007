#pragma once
/// The children of a paged table (table/paged_table.h) without a device: frames are host memory like images,
/// moving a child is a copy, and everything is done at once, by the calling thread.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/tables/word_tile_serial.h"
#include "table/child_table.h"
#include "table/tile.h"
#include "table/word_slots.h"

namespace warpmer::bench {

/// The meaning of functions stands in kernels/live/device_children.cuh. Here all is done when they return.
template <class KeyType>
class HostChildren {
 public:
  using Key = KeyType;
  using Items = table::ChildItems<Key>;
  using Update = typename Items::Update;
  using Place = typename Items::Place;
  using Child = table::ChildInFrame<Key>;
  using Directory = table::ChildDirectoryView<Key>;

  HostChildren(std::uint32_t frames, std::size_t frame_bytes, std::size_t batch, std::uint32_t children,
               std::uint64_t most_image_bytes, Place place = {})
      : frame_bytes_(frame_bytes),
        batch_(batch),
        most_images_(most_image_bytes == 0 ? UINT64_MAX : most_image_bytes / frame_bytes),
        place_(place),
        frames_(frames),
        reports_(frames),
        updates_(batch) {
    for (Memory& frame : frames_) frame = make_memory();
    for (std::uint32_t i = 0; i < children; ++i) make_spare();
  }

  // --- Images.

  void make_image(std::uint32_t child) {
    if (child >= images_.size()) images_.resize(child + std::size_t{1});
    if (spare_.empty()) make_spare();
    images_[child] = std::move(spare_.back());
    spare_.pop_back();
  }
  /// Every image has room for any child.
  void fit_images(const std::vector<std::size_t>& /*bytes*/) {}
  void swap_images(std::uint32_t a, std::uint32_t b) { std::swap(images_[a], images_[b]); }

  // --- Frames.

  void clear(std::uint32_t frame, const table::ChildShape& shape) {
    const auto slots = slots_in(frames_[frame], shape);
    for (std::size_t i = 0; i < shape.slots(); ++i) slots.write(i, {table::kEmptyKey<Key>, 0});
  }
  void fetch(std::uint32_t frame, std::uint32_t child, const table::ChildShape& shape) {
    std::memcpy(frames_[frame].get(), images_[child].get(), shape.template bytes<Key>());
  }
  void write_back(std::uint32_t frame, std::uint32_t child, const table::ChildShape& shape) {
    std::memcpy(images_[child].get(), frames_[frame].get(), shape.template bytes<Key>());
  }
  void pour(std::uint32_t frame, const Child& child, const table::ChildShape& shape) {
    const Table table(at(frame, child));
    const auto slots = slots_in(images_[child.number], shape);
    for (std::size_t i = 0; i < shape.slots(); ++i) {
      const table::Slot<Key> entry = slots.read(i);
      if (table.takes_over(entry)) reports_[frame].note(table.take_over({}, entry));
    }
  }
  void update(std::uint32_t frame, const Child& child, table::ChildStep step, std::size_t begin,
              std::size_t end, bool own) {
    Update* const first = updates_.data() + (own ? frame * (batch_ / frames_.size()) : 0);
    const std::uint32_t* const order = own ? nullptr : update_order_.data();
    table::with_child_step<Key>(
        step, [&](auto constant) { do_step<constant.value>(frame, child, first, order, begin, end); });
  }
  void find(std::uint32_t frame, const Child& child, std::size_t begin, std::size_t end) {
    const Table table(at(frame, child));
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t query = query_order_.empty() ? i : query_order_[i];
      if (!table.is_asked(queries_[query])) continue;
      const std::uint32_t value = table.find({}, queries_[query]);
      if (value == 0) continue;
      answers_[query] = value;
      queries_[query] = table::kEmptyKey<Key>;
      ++reports_[frame].found;
    }
  }
  table::ChildReport wait(std::uint32_t frame) { return std::exchange(reports_[frame], {}); }
  [[nodiscard]] Child at(std::uint32_t frame, Child child) const {
    child.memory = frames_[frame].get();
    return child;
  }
  [[nodiscard]] Place place() const { return place_; }

  // --- Operations.

  void bring_updates(const Update* updates, std::size_t n) {
    std::copy_n(updates, n, updates_.begin() + static_cast<std::ptrdiff_t>(waiting_));
    waiting_ += n;
  }
  void bring_to_frame(std::uint32_t frame, const Update* updates, std::size_t n) {
    std::copy_n(updates, n, updates_.data() + frame * (batch_ / frames_.size()));
  }
  void wait_for_input() {}
  std::vector<std::size_t> sort_updates(const Directory& directory) {
    return sort(directory, waiting_, update_order_,
                [&](std::size_t i) { return Items::key_of(updates_[i]); });
  }
  std::size_t keep_waiting() {
    const auto begin = updates_.begin(), end = begin + static_cast<std::ptrdiff_t>(waiting_);
    const auto is_done = [](const Update& update) { return Items::key_of(update) == table::kEmptyKey<Key>; };
    waiting_ = static_cast<std::size_t>(std::remove_if(begin, end, is_done) - begin);
    return waiting_;
  }
  void forget_updates() { waiting_ = 0; }
  void take_updates(Update* updates, std::size_t n) {
    std::copy_n(updates_.begin(), n, updates);
    forget_updates();
  }
  void bring_queries(const Key* keys, std::size_t n) {
    queries_.assign(keys, keys + n);
    answers_.assign(n, 0);
    query_order_.clear();
  }
  std::vector<std::size_t> sort_queries(const Directory& directory) {
    return sort(directory, queries_.size(), query_order_, [&](std::size_t i) { return queries_[i]; });
  }
  void take_answers(std::uint32_t* answers, std::size_t n) { std::copy_n(answers_.begin(), n, answers); }
  Directory directory(const std::vector<std::uint32_t>& entries, std::uint32_t bits) {
    return {entries.data(), bits, place_};
  }
  /// Nothing is ever under way.
  void settle() noexcept {}
  /// Returns the memory that a device would have to have.
  [[nodiscard]] std::size_t device_bytes() const {
    return frames_.size() * frame_bytes_ + updates_.size() * sizeof(Update) +
           queries_.capacity() * sizeof(Key) +
           (update_order_.capacity() + query_order_.capacity() + answers_.capacity()) * sizeof(std::uint32_t);
  }

 private:
  using Tile = std::conditional_t<table::Slots<Key>::kOneWord, SerialWordTile<table::kChildBucket>,
                                  table::SerialTile<Key, table::kChildBucket>>;
  using Table = table::ChildTable<Tile>;
  struct DeleteAligned {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };
  using Memory = std::unique_ptr<std::byte, DeleteAligned>;
  static constexpr std::align_val_t kAlignment{64};

  void make_spare() {
    if (made_images_ == most_images_) {
      throw table::PagedTableFull(
          table::PagedTableFull::Reason::memory, {},
          "there is no memory for more than " + std::to_string(most_images_) + " child tables");
    }
    spare_.push_back(make_memory());
    ++made_images_;
  }
  [[nodiscard]] Memory make_memory() const {
    return Memory(static_cast<std::byte*>(::operator new(frame_bytes_, kAlignment)));
  }
  static table::Slots<Key> slots_in(const Memory& memory, const table::ChildShape& shape) {
    return table::Slots<Key>::in(memory.get(), shape.slots());
  }

  template <table::ChildStep kStep>
  void do_step(std::uint32_t frame, const Child& child, Update* updates, const std::uint32_t* order,
               std::size_t begin, std::size_t end) {
    constexpr bool kIsLast = kStep != table::ChildStep::place;
    const Table table(at(frame, child));
    for (std::size_t i = begin; i < end; ++i) {
      Update& update = updates[order == nullptr ? i : order[i]];
      table::ChildOutcome outcome = table.template serve<kStep>({}, update);
      if (!outcome.is_mine) continue;
      outcome.is_done = outcome.is_done || !kIsLast;  // what has no place is told once
      reports_[frame].note(outcome);
      if constexpr (kStep == table::ChildStep::subtract) {
        update.count = outcome.missing;
      } else if (kIsLast && outcome.is_done) {
        update = Items::done();
      }
    }
  }

  template <class KeyOf>
  static std::vector<std::size_t> sort(const Directory& directory, std::size_t n,
                                       std::vector<std::uint32_t>& order, KeyOf&& key_of) {
    std::vector<std::size_t> begins(
        1 + *std::max_element(directory.children, directory.children + (1u << directory.bits)) + 1);
    const auto each = [&](auto&& work) {
      for (std::size_t i = 0; i < n; ++i) {
        if (key_of(i) != table::kEmptyKey<Key>) work(i, directory.child_of(key_of(i)));
      }
    };
    each([&](std::size_t /*i*/, std::uint32_t child) { ++begins[child + std::size_t{1}]; });
    for (std::size_t child = 1; child < begins.size(); ++child) begins[child] += begins[child - 1];
    order.resize(begins.back());
    std::vector<std::size_t> next(begins);
    each([&](std::size_t i, std::uint32_t child) { order[next[child]++] = static_cast<std::uint32_t>(i); });
    return begins;
  }

  std::size_t frame_bytes_, batch_;
  std::uint64_t most_images_, made_images_ = 0;
  Place place_;
  std::vector<Memory> frames_, images_, spare_;
  std::vector<table::ChildReport> reports_;  ///< by frame
  std::vector<Update> updates_;
  std::size_t waiting_ = 0;
  std::vector<std::uint32_t> update_order_, query_order_;
  std::vector<Key> queries_;
  std::vector<std::uint32_t> answers_;
};

}  // namespace warpmer::bench
