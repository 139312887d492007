#pragma once
/// Plain gzip: one or more members, decompressed one after another.

#include <memory>
#include <vector>

#include "io/byte_file.h"
#include "io/inflater.h"
#include "io/read_ahead.h"

namespace warpmer::io {

/// All of the decompression happens in `load`, because what a deflate stream means depends on
/// everything before it. Tolerates zero bytes after the last member, as tapes and block devices leave
/// them; anything else there is an error, as is a member that ends too soon or fails its CRC.
class GzipStream final : public PortionLoader {
 public:
  static constexpr std::size_t kTextBytes = std::size_t{512} << 10;
  static constexpr std::size_t kInputBytes = std::size_t{256} << 10;

  GzipStream(std::unique_ptr<ByteFile> file, std::unique_ptr<GzipInflater> inflater);

  [[nodiscard]] std::size_t text_capacity() const noexcept override { return kTextBytes; }
  bool load(Portion& portion) override;
  void work(Portion&) override {}

 private:
  bool refill();
  bool start_member();
  [[noreturn]] void fail_corrupt();

  std::unique_ptr<ByteFile> file_;
  std::unique_ptr<GzipInflater> inflater_;
  std::unique_ptr<char[]> buffer_;
  std::span<const char> input_;
  std::uint64_t members_ = 0;
  bool is_in_member_ = false;
};

}  // namespace warpmer::io
