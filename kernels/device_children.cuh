#pragma once
/// The children of a paged table (table/paged_table.h) on a GPU: frames in its memory, each with a stream of
/// its own, and images in pinned memory of the host. While one frame's child is written back another's is
/// read and the others are worked on (Starfish: Xiong et al. 2022, section 4.2.1).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device_memory.cuh"
#include "table/child_table.h"
#include "table/paged_table.h"

namespace warpmer::gpu {

/// Works on the device that is current, for one thread at a time. What functions mean stands in
/// cpu/host_children.h; here they start something, but for `wait` and those that return what they have
/// counted.
class DeviceChildren {
  using Key32 = table::Key32;

 public:
  DeviceChildren(std::uint32_t frames, std::size_t frame_words, std::size_t batch, std::uint32_t children);
  ~DeviceChildren();
  DeviceChildren(const DeviceChildren&) = delete;
  DeviceChildren& operator=(const DeviceChildren&) = delete;

  void make_image(std::uint32_t child);
  void drop_image(std::uint32_t child);
  void swap_images(std::uint32_t a, std::uint32_t b);

  void clear(std::uint32_t frame, const table::ChildShape& shape);
  void fetch(std::uint32_t frame, std::uint32_t child, const table::ChildShape& shape);
  void write_back(std::uint32_t frame, std::uint32_t child, const table::ChildShape& shape);
  void pour(std::uint32_t frame, const table::ChildInFrame& child, std::uint32_t image,
            const table::ChildShape& shape);
  void update(std::uint32_t frame, const table::ChildInFrame& child, table::ChildStep step, std::size_t begin,
              std::size_t end, bool own);
  void find(std::uint32_t frame, const table::ChildInFrame& child, std::size_t begin, std::size_t end);
  table::ChildReport wait(std::uint32_t frame);

  /// Pairs and keys lie in memory of the host or the device; of the host best in pinned memory.
  void bring_updates(const std::uint64_t* pairs, std::size_t n);
  void bring_to_frame(std::uint32_t frame, const std::uint64_t* pairs, std::size_t n);
  void wait_for_input();
  std::vector<std::size_t> sort_updates(const table::ChildDirectoryView<Key32>& directory);
  std::size_t keep_waiting();
  void bring_queries(const Key32* keys, std::size_t n);
  std::vector<std::size_t> sort_queries(const table::ChildDirectoryView<Key32>& directory);
  void take_answers(std::uint32_t* answers, std::size_t n);
  table::ChildDirectoryView<Key32> directory(const std::vector<std::uint32_t>& entries, std::uint32_t bits);
  void settle() noexcept;
  /// Of the device's memory that is held.
  [[nodiscard]] std::size_t device_bytes() const;

 private:
  struct Frame {
    explicit Frame(std::size_t words) : words(words), report(1), told(1) {}
    DeviceArray<std::uint64_t> words;
    DeviceArray<table::ChildReport> report;
    PinnedArray<table::ChildReport> told;
    Stream stream;
    Event uploaded;
  };

  /// A child's, on the host.
  struct Image {
    Image() = default;
    explicit Image(std::size_t words) : words(words), written(std::make_unique<Event>()) {}
    PinnedArray<std::uint64_t> words;
    std::unique_ptr<Event> written;  ///< by the frame that it was written from last
  };

  void read_after_write(std::uint32_t frame, const Image& image) const;
  [[nodiscard]] table::ChildInFrame at(std::uint32_t frame, table::ChildInFrame child) const;
  [[nodiscard]] std::uint64_t* own_updates(std::uint32_t frame) const;
  template <table::ChildStep kStep>
  void do_step(std::uint32_t frame, const table::ChildInFrame& child, bool own, std::size_t begin,
               std::size_t end);
  template <class Item>
  std::vector<std::size_t> sort(const Item* items, std::size_t n, DeviceArray<std::uint32_t>& order,
                                const table::ChildDirectoryView<Key32>& directory);

  std::size_t frame_words_, batch_;
  std::vector<Frame> frames_;
  std::vector<Image> images_, spare_;
  DeviceArray<std::uint64_t> updates_, kept_;
  std::size_t waiting_ = 0;
  DeviceArray<std::uint32_t> update_order_, query_order_;
  DeviceArray<Key32> queries_;
  DeviceArray<std::uint32_t> answers_;
  std::size_t asked_ = 0;
  bool queries_are_sorted_ = false;
  std::vector<std::uint32_t> directory_;  ///< the last of those below
  /// Work that is under way may still read those before.
  std::vector<DeviceArray<std::uint32_t>> directories_;
  std::vector<DeviceArray<std::uint32_t>> counters_;  ///< one: of `sort` and `keep_waiting`
  Stream input_;
  Event sorted_;
};

/// 32-bit keys with 32-bit values, on a GPU and beyond its memory.
using PagedPairTable = table::PagedTable<DeviceChildren>;

}  // namespace warpmer::gpu
