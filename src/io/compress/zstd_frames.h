#pragma once
/// zstd, by its library (RFC 8878): a file is frames, one behind another, which do not refer to each other.

#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>

#include "file/byte_file.h"
#include "io/blocks/read_ahead.h"

namespace warpmer::io {

/// True when this warpmer was built with the library.
bool has_zstd() noexcept;
/// True when a file that begins so is zstd: with a frame, or with one to be skipped, as pzstd writes it.
bool is_zstd(std::string_view start);

/// Frames that are not large are decompressed in `work`, so by several threads at once; some small ones, or
/// one. Where a frame ends is seen from the sizes of its blocks, so no table of frames is needed. A large
/// one, and one that is damaged, is decompressed in `load`, from its front.
class ZstdFrames final : public TextBlockLoader {
 public:
  static constexpr std::size_t kTextBytes = std::size_t{1} << 20;       ///< of a block
  static constexpr std::size_t kMostFrameText = std::size_t{8} << 20;   ///< of a frame that is not large
  static constexpr std::size_t kMostFrameBytes = std::size_t{4} << 20;  ///< the same, on disk

  explicit ZstdFrames(std::unique_ptr<file::ByteFile> file);
  ~ZstdFrames() override;

  /// Returns how many threads are worth having here, of `threads`: one, if the first frame is large.
  [[nodiscard]] unsigned useful_threads(unsigned threads);
  /// Returns the most bytes that a stream of such a file and its text blocks hold, text included.
  static std::uint64_t memory_bytes(file::ByteFile& file, unsigned threads);

  [[nodiscard]] std::size_t text_capacity() const noexcept override { return kTextBytes; }
  bool load(TextBlock& out) override;
  void work(TextBlock& out) override;
  bool hand_over(TextBlock& out) override;

 private:
  struct FrameSize;
  struct WholeFrames;
  struct ZstdDecompressor;

  static FrameSize measure(file::ByteFile& file);
  static WholeFrames& frames_of(TextBlock& out);
  bool find_frame();
  void skip_frames();
  bool load_frames(TextBlock& out);
  void decompress_large(TextBlock& out);

  std::unique_ptr<file::ByteFile> file_;
  std::size_t most_text_ = 0;       ///< of a frame that is decompressed in `work`; 0 before the first
  std::uint64_t frames_ = 0;        ///< number of those that were begun
  std::exception_ptr error_;        ///< error of what comes after the block that was loaded
  bool is_in_large_frame_ = false;  ///< it goes on at the front of the file
  std::unique_ptr<ZstdDecompressor> decompressor_;
};

}  // namespace warpmer::io
