#include "io/compress/bgzf_writer.h"

#include <htslib/bgzf.h>

#include "base/error.h"

namespace warpmer::io {

static_assert(kBgzfBlockText == BGZF_BLOCK_SIZE);

void append_bgzf(std::string_view text, int level, std::string& to) {
  while (!text.empty()) {
    const std::string_view block = text.substr(0, kBgzfBlockText);
    const std::size_t begin = to.size();
    std::size_t bytes = BGZF_MAX_BLOCK_SIZE;
    to.resize(begin + bytes);
    if (bgzf_compress(to.data() + begin, &bytes, block.data(), block.size(), level) != 0) {
      throw ResourceError(
          "compressing the output failed; give warpmer more memory, or write it uncompressed");
    }
    to.resize(begin + bytes);
    text.remove_prefix(block.size());
  }
}

}  // namespace warpmer::io
