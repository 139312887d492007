#pragma once
/// The children of a paged table (table/paged_table.h) without a device: frames are host memory like images,
/// moving a child is a copy, and everything is done at once, by the calling thread.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "table/child_table.h"
#include "table/rebuild.h"
#include "table/word_slots.h"

namespace warpmer::cpu {

class HostChildren {
  using Key32 = table::Key32;

 public:
  /// Frames of so many words; operations, and queries, that may wait; children for which memory is made
  /// ready.
  HostChildren(std::uint32_t frames, std::size_t frame_words, std::size_t batch, std::uint32_t children)
      : frame_words_(frame_words), batch_(batch), frames_(frames), reports_(frames), updates_(batch) {
    for (Words& frame : frames_) frame = make_words();
    for (std::uint32_t i = 0; i < children; ++i) spare_.push_back(make_words());
  }

  // --- Images. All have room for any child.

  void make_image(std::uint32_t child) {
    if (child >= images_.size()) images_.resize(child + std::size_t{1});
    if (spare_.empty()) spare_.push_back(make_words());
    images_[child] = std::move(spare_.back());
    spare_.pop_back();
  }
  void drop_image(std::uint32_t child) { spare_.push_back(std::move(images_[child])); }
  void swap_images(std::uint32_t a, std::uint32_t b) { std::swap(images_[a], images_[b]); }

  // --- Frames. What is asked for one is done in that order.

  void clear(std::uint32_t frame, const table::ChildShape& shape) {
    std::fill_n(frames_[frame].get(), shape.words(), table::kEmptyWord);
  }
  void fetch(std::uint32_t frame, std::uint32_t child, const table::ChildShape& shape) {
    std::memcpy(frames_[frame].get(), images_[child].get(), shape.bytes());
  }
  void write_back(std::uint32_t frame, std::uint32_t child, const table::ChildShape& shape) {
    std::memcpy(images_[child].get(), frames_[frame].get(), shape.bytes());
  }
  /// Puts in what an image of this shape holds of the child.
  void pour(std::uint32_t frame, const table::ChildInFrame& child, std::uint32_t image,
            const table::ChildShape& shape) {
    const Table table(at(frame, child));
    table::for_each_entry(table::Slots<Key32>{images_[image].get()}, shape.words(), 0, 1,
                          [&](const table::Slot<Key32>& entry) {
                            const std::uint64_t pair = table::word_of(entry);
                            if (table.takes_over(pair))
                              reports_[frame].note(table.serve<table::ChildStep::insert>({}, pair));
                          });
  }
  /// Does a step of the updates `begin` to `end` of the order made last; `own`: of those that were brought to
  /// the frame. In the last step, those that are done are masked, and those that are not are told.
  void update(std::uint32_t frame, const table::ChildInFrame& child, table::ChildStep step, std::size_t begin,
              std::size_t end, bool own) {
    using table::ChildStep;
    std::uint64_t* const first = updates_.data() + (own ? frame * (batch_ / frames_.size()) : 0);
    const std::uint32_t* const order = own ? nullptr : update_order_.data();
    switch (step) {
      case ChildStep::place:
        return do_step<ChildStep::place>(frame, child, first, order, begin, end);
      case ChildStep::count:
        return do_step<ChildStep::count>(frame, child, first, order, begin, end);
      case ChildStep::insert:
        return do_step<ChildStep::insert>(frame, child, first, order, begin, end);
      case ChildStep::erase:
        return do_step<ChildStep::erase>(frame, child, first, order, begin, end);
    }
  }
  /// Answers queries `begin` to `end` of their order, or, if none was made, as they came. Those that have a
  /// value are masked.
  void find(std::uint32_t frame, const table::ChildInFrame& child, std::size_t begin, std::size_t end) {
    const Table table(at(frame, child));
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t query = query_order_.empty() ? i : query_order_[i];
      if (!table.is_asked(queries_[query])) continue;
      const std::uint32_t value = table.find({}, queries_[query]);
      if (value == 0) continue;
      answers_[query] = value;
      queries_[query] = table::kEmptyKey<Key32>;
      ++reports_[frame].found;
    }
  }
  /// What all that was asked for the frame has come to, since the last time.
  table::ChildReport wait(std::uint32_t frame) { return std::exchange(reports_[frame], {}); }

  // --- Operations.

  void bring_updates(const std::uint64_t* pairs, std::size_t n) {
    std::copy_n(pairs, n, updates_.begin() + static_cast<std::ptrdiff_t>(waiting_));
    waiting_ += n;
  }
  void bring_to_frame(std::uint32_t frame, const std::uint64_t* pairs, std::size_t n) {
    std::copy_n(pairs, n, updates_.data() + frame * (batch_ / frames_.size()));
  }
  /// Until memory that was brought from may change.
  void wait_for_input() {}
  /// Puts the updates that wait in order of their children. Returns where each child's begin, and the end.
  std::vector<std::size_t> sort_updates(const table::ChildDirectoryView<Key32>& directory) {
    return sort(directory, waiting_, update_order_,
                [&](std::size_t i) { return table::key_of(updates_[i]); });
  }
  /// Forgets updates that are done. Returns how many wait.
  std::size_t keep_waiting() {
    const auto begin = updates_.begin(), end = begin + static_cast<std::ptrdiff_t>(waiting_);
    waiting_ = static_cast<std::size_t>(std::remove(begin, end, table::kEmptyWord) - begin);
    return waiting_;
  }
  void bring_queries(const Key32* keys, std::size_t n) {
    queries_.assign(keys, keys + n);
    answers_.assign(n, 0);
    query_order_.clear();
  }
  std::vector<std::size_t> sort_queries(const table::ChildDirectoryView<Key32>& directory) {
    return sort(directory, queries_.size(), query_order_, [&](std::size_t i) { return queries_[i]; });
  }
  void take_answers(std::uint32_t* answers, std::size_t n) { std::copy_n(answers_.begin(), n, answers); }
  /// The directory, where operations are served.
  table::ChildDirectoryView<Key32> directory(const std::vector<std::uint32_t>& entries, std::uint32_t bits) {
    return {entries.data(), bits};
  }
  /// Ends what is under way, after an error: nothing here.
  void settle() noexcept {}
  /// Of memory that a device would have to have.
  [[nodiscard]] std::size_t device_bytes() const {
    return frames_.size() * frame_words_ * sizeof(std::uint64_t) + updates_.size() * sizeof(std::uint64_t) +
           (update_order_.capacity() + query_order_.capacity() + queries_.capacity() + answers_.capacity()) *
               sizeof(std::uint32_t);
  }

 private:
  using Tile = table::SerialWordTile<table::kChildBucket>;
  using Table = table::ChildTable<Tile>;
  using Words = std::unique_ptr<std::uint64_t[]>;

  [[nodiscard]] Words make_words() const {
    return std::make_unique_for_overwrite<std::uint64_t[]>(frame_words_);
  }
  [[nodiscard]] table::ChildInFrame at(std::uint32_t frame, table::ChildInFrame child) const {
    child.words = frames_[frame].get();
    return child;
  }

  template <table::ChildStep kStep>
  void do_step(std::uint32_t frame, const table::ChildInFrame& child, std::uint64_t* updates,
               const std::uint32_t* order, std::size_t begin, std::size_t end) {
    constexpr bool kIsLast = kStep != table::ChildStep::place;
    const Table table(at(frame, child));
    for (std::size_t i = begin; i < end; ++i) {
      std::uint64_t& update = updates[order == nullptr ? i : order[i]];
      table::ChildOutcome outcome = table.serve<kStep>({}, update);
      if (!outcome.is_mine) continue;
      outcome.is_done = outcome.is_done || !kIsLast;  // what has no place is told once
      reports_[frame].note(outcome);
      if (kIsLast && outcome.is_done) update = table::kEmptyWord;
    }
  }

  template <class KeyOf>
  static std::vector<std::size_t> sort(const table::ChildDirectoryView<Key32>& directory, std::size_t n,
                                       std::vector<std::uint32_t>& order, KeyOf&& key_of) {
    std::vector<std::size_t> begins(
        1 + *std::max_element(directory.children, directory.children + (1u << directory.bits)) + 1);
    const auto each = [&](auto&& work) {
      for (std::size_t i = 0; i < n; ++i) {
        if (key_of(i) != table::kEmptyKey<Key32>) work(i, directory.child_of(key_of(i)));
      }
    };
    each([&](std::size_t /*i*/, std::uint32_t child) { ++begins[child + std::size_t{1}]; });
    for (std::size_t child = 1; child < begins.size(); ++child) begins[child] += begins[child - 1];
    order.resize(begins.back());
    std::vector<std::size_t> next(begins);
    each([&](std::size_t i, std::uint32_t child) { order[next[child]++] = static_cast<std::uint32_t>(i); });
    return begins;
  }

  std::size_t frame_words_, batch_;
  std::vector<Words> frames_, images_, spare_;
  std::vector<table::ChildReport> reports_;  ///< by frame
  std::vector<std::uint64_t> updates_;
  std::size_t waiting_ = 0;
  std::vector<std::uint32_t> update_order_, query_order_;
  std::vector<Key32> queries_;
  std::vector<std::uint32_t> answers_;
};

}  // namespace warpmer::cpu
