#pragma once
/// Files of NumPy arrays (`.npz`): a ZIP archive of `.npy` files, which are a line that says type and shape,
/// and then the numbers as they are in memory, rows first. Nothing is compressed. Written in one go, so that
/// it can go to a pipe: sizes are known beforehand, and checksums follow the data.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace warpmer::formats {

class NpzWriter {
 public:
  using Write = std::function<void(std::string_view bytes)>;
  using Shape = std::vector<std::uint64_t>;

  explicit NpzWriter(Write write) : write_(std::move(write)) {}

  /// Adds a whole array. There are as many numbers as the shape says.
  void add(const std::string& name, std::span<const std::uint64_t> numbers, const Shape& shape);
  void add(const std::string& name, std::span<const double> numbers, const Shape& shape);
  /// Adds a list of texts, which are UTF-8.
  void add(const std::string& name, std::span<const std::string> texts);

  /// Begins an array of whole numbers of 64 bits that comes in pieces.
  void begin(const std::string& name, const Shape& shape);
  /// Begins one of numbers with a point, of 64 bits.
  void begin_reals(const std::string& name, const Shape& shape);
  /// Begins a list of bytes, of `width` (1 or more) each, in which zeros stand behind those that are fewer.
  void begin_bytes(const std::string& name, std::uint64_t items, std::size_t width);
  void append(std::string_view bytes);
  /// Ends it. InternalError when it has not the bytes that its shape says.
  void end();

  /// Writes the directory; nothing may follow.
  void finish();

 private:
  struct Member {
    std::string name;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;  ///< of the .npy file
    std::uint32_t crc = 0;
  };

  void begin(const std::string& name, std::string_view type, std::size_t item_bytes, const Shape& shape);
  void put(std::string_view bytes);

  Write write_;
  std::vector<Member> members_;
  std::uint64_t offset_ = 0;
  std::uint64_t left_ = 0;  ///< bytes of the last member that are still to come
};

}  // namespace warpmer::formats
