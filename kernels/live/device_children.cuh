#pragma once
/// The children of a paged table (table/paged_table.h) on a GPU: frames in its memory, each with a stream
/// of its own, and images in pinned memory of the host. While the child of one frame is written back,
/// that of another is read, and the other frames are worked on (Starfish: Xiong et al. 2022, section 4.2.1).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/memory/device_memory.cuh"
#include "kernels/memory/growing_pages.cuh"
#include "system/huge_pages.h"
#include "table/child_table.h"
#include "table/paged_table.h"

namespace warpmer::gpu {

/// The largest number of children; a block counts them in static shared memory.
inline constexpr std::uint32_t kMostChildren = 8192;

/// Works on the current device, for one thread at a time. Functions only start work, except for `wait` and
/// those that return counts.
template <class KeyType>
class DeviceChildren {
 public:
  using Key = KeyType;
  using Items = table::ChildItems<Key>;
  using Update = typename Items::Update;
  using Place = typename Items::Place;
  using Child = table::ChildInFrame<Key>;
  using Directory = table::ChildDirectoryView<Key>;

  /// Frames of so many bytes; operations, and queries, that may wait; children for which memory is made
  /// ready; and what all children's memory may come to, 0: anything.
  DeviceChildren(std::uint32_t frames, std::size_t frame_bytes, std::size_t batch, std::uint32_t children,
                 std::uint64_t most_image_bytes, Place place = {});
  ~DeviceChildren();

  /// Images of frames smaller than this are as large as a frame.
  static constexpr std::size_t kLargeImage = std::size_t{2} << 20;
  /// Returns the host memory for the image of a child of so many bytes, by the bytes of a frame.
  static std::uint64_t image_bytes(std::size_t bytes, std::size_t frame_bytes) {
    return frame_bytes < kLargeImage ? frame_bytes : system::whole_huge_pages(bytes);
  }
  /// Device memory that is held besides frames and updates that wait, with directories of 2^kShardBits
  /// entries.
  static constexpr std::size_t kMostDirectories = 8;
  static constexpr std::uint64_t kFixedBytes =
      (kMostChildren + (kMostDirectories << kShardBits)) * sizeof(std::uint32_t);

  // --- Images: of each child one, of any size that a child may have.

  /// Gives the child an image. Its content is of no use until it is written to.
  void make_image(std::uint32_t child);
  /// Before anything else is done, makes room for children of so many bytes, by number.
  void fit_images(const std::vector<std::size_t>& bytes);
  /// Each has the other's from now on, also where that is still being written.
  void swap_images(std::uint32_t a, std::uint32_t b);

  // --- Frames. What is asked for one is done in that order. Between frames there is no order, but that an
  // image is read, by `fetch` and `pour`, when it has been written.

  /// The frame holds an empty child of this shape.
  void clear(std::uint32_t frame, const table::ChildShape& shape);
  /// The frame holds what was written to the child's image, of the same shape.
  void fetch(std::uint32_t frame, std::uint32_t child, const table::ChildShape& shape);
  /// Copies the frame to the child's image, which then takes as much memory as the frame. If a child has
  /// another shape than when it came, the frame has been waited for since.
  void write_back(std::uint32_t frame, std::uint32_t child, const table::ChildShape& shape);
  /// Puts in what its image, of this shape, holds of the child.
  void pour(std::uint32_t frame, const Child& child, const table::ChildShape& shape);
  /// Does a step of the updates `begin` to `end` of the order made last; `own`: of those that were brought to
  /// the frame. In the last step, those that are done are masked, and those that are not are told.
  void update(std::uint32_t frame, const Child& child, table::ChildStep step, std::size_t begin,
              std::size_t end, bool own);
  /// Answers queries `begin` to `end` of their order, or, if none was made, as they came. Those that have a
  /// value are masked.
  void find(std::uint32_t frame, const Child& child, std::size_t begin, std::size_t end);
  /// Returns what all that was asked for the frame has come to, since the last time.
  table::ChildReport wait(std::uint32_t frame);
  /// Returns the child, where it is in its frame.
  [[nodiscard]] Child at(std::uint32_t frame, Child child) const;
  /// Returns the stream of a frame. Work that is enqueued there comes after all that was asked for the frame
  /// before.
  [[nodiscard]] cudaStream_t stream(std::uint32_t frame) const { return frames_[frame].stream; }
  [[nodiscard]] Place place() const { return place_; }

  // --- Operations.

  /// Updates and keys lie in memory of the host or the device; in the host, pinned memory is best.
  void bring_updates(const Update* updates, std::size_t n);
  void bring_to_frame(std::uint32_t frame, const Update* updates, std::size_t n);
  /// Waits until memory that was brought from may change.
  void wait_for_input();
  /// Puts the updates that wait in order of their children. Returns where each child's begin, and the end.
  std::vector<std::size_t> sort_updates(const Directory& directory);
  /// Forgets updates that are done. Returns how many wait.
  std::size_t keep_waiting();
  /// Forgets all updates.
  void forget_updates() { waiting_ = 0; }
  /// Copies the first updates as they are now, in the order in which they were brought, and forgets all.
  void take_updates(Update* updates, std::size_t n);
  /// Queries in place of those before, in which nothing is under way any more.
  void bring_queries(const Key* keys, std::size_t n);
  std::vector<std::size_t> sort_queries(const Directory& directory);
  void take_answers(std::uint32_t* answers, std::size_t n);
  /// Returns the directory, where operations are served.
  Directory directory(const std::vector<std::uint32_t>& entries, std::uint32_t bits);
  /// Ends what is under way, after an error.
  void settle() noexcept;
  /// Returns the bytes of device memory that are held, and of host memory, in images.
  [[nodiscard]] std::size_t device_bytes() const;
  [[nodiscard]] std::uint64_t host_bytes() const { return image_bytes_; }

 private:
  struct ChildFrame {
    explicit ChildFrame(std::size_t bytes) : memory(bytes), report(1), told(1) {}
    DeviceArray<std::byte> memory;
    DeviceArray<table::ChildReport> report;
    PinnedArray<table::ChildReport> told;
    Stream stream;
    Event uploaded;
  };

  /// The image of a child on the host. A large image is as large as its child.
  class ChildImage {
   public:
    ChildImage() = default;
    explicit ChildImage(std::size_t most_bytes) : written(std::make_unique<Event>()) {
      if (most_bytes < kLargeImage) {
        small_ = PinnedArray<std::byte>(most_bytes);
      } else {
        large_ = GrowingPages(most_bytes);
      }
    }
    [[nodiscard]] std::byte* memory() const { return small_.size() > 0 ? small_.data() : large_.data(); }
    /// Returns the bytes of host memory that it takes.
    [[nodiscard]] std::size_t bytes() const { return small_.size() > 0 ? small_.size() : large_.bytes(); }
    /// Changes the size. No copy from or to memory that is given back may be under way: see `write_back`.
    void resize(std::size_t bytes, unsigned threads = GrowingPages::kMostThreads) {
      if (small_.size() == 0) large_.resize(bytes, threads);
    }
    template <class Visit>
    void for_each_part(std::size_t bytes, Visit&& visit) const {
      if (small_.size() > 0) {
        visit(0, bytes);
      } else {
        large_.for_each_part(bytes, visit);
      }
    }

    std::unique_ptr<Event> written;  ///< recorded by the frame that it was written from last

   private:
    PinnedArray<std::byte> small_;
    GrowingPages large_;
  };

  void wait_for_frames() const;
  void let_frames_follow() const;
  ChildImage make_sized(std::size_t bytes);
  void resize(ChildImage& image, std::size_t bytes);
  void check_image_bytes(std::uint64_t more) const;
  void read_after_write(std::uint32_t frame, const ChildImage& image) const;
  [[nodiscard]] Update* own_updates(std::uint32_t frame) const;
  template <table::ChildStep kStep>
  void do_step(std::uint32_t frame, const Child& child, bool own, std::size_t begin, std::size_t end);
  template <class Item>
  std::vector<std::size_t> sort(const Item* items, std::size_t n, DeviceArray<std::uint32_t>& order,
                                const Directory& directory);

  std::size_t frame_bytes_, batch_;
  std::uint64_t most_image_bytes_, image_bytes_ = 0;  ///< bytes of the host's memory
  Place place_;
  std::vector<ChildFrame> frames_;
  std::vector<ChildImage> images_, spare_;
  DeviceArray<Update> updates_, kept_;
  std::size_t waiting_ = 0;
  DeviceArray<std::uint32_t> update_order_, query_order_;
  DeviceArray<Key> queries_;
  DeviceArray<std::uint32_t> answers_;
  std::size_t asked_ = 0;
  bool queries_are_sorted_ = false;
  std::vector<std::uint32_t> directory_;  ///< contents of the last of those below
  /// The earlier ones are kept because work that is under way may still read them.
  std::vector<DeviceArray<std::uint32_t>> directories_;
  DeviceArray<std::uint32_t> counters_;  ///< counters of `sort` and `keep_waiting`
  Stream input_;
  Event brought_;
};

extern template class DeviceChildren<table::Key32>;
extern template class DeviceChildren<Key64>;
extern template class DeviceChildren<Key128>;

/// 32-bit keys with 32-bit values, on a GPU and beyond its memory.
using PagedPairTable = table::PagedTable<DeviceChildren<table::Key32>>;
/// K-mers, as hashes, with counts, on a GPU and beyond its memory.
template <class Key>
using PagedKmerTable = table::PagedTable<DeviceChildren<Key>>;

}  // namespace warpmer::gpu
