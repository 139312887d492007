#include "io/compress/inflater.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

#ifdef WARPMER_HAVE_ISAL
#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#endif

namespace warpmer::io {
namespace {

std::uint32_t clamp_to_32_bits(std::size_t size) {
  return static_cast<std::uint32_t>(std::min<std::size_t>(size, std::numeric_limits<std::uint32_t>::max()));
}

/// The C interfaces take pointers to unsigned bytes that they do not write to, without saying so.
unsigned char* bytes(const char* pointer) {
  return reinterpret_cast<unsigned char*>(const_cast<char*>(pointer));
}

class ZlibInflater final : public DeflateInflater {
 public:
  ZlibInflater() {
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~ZlibInflater() override { inflateEnd(&stream_); }

  void start(std::string_view window, unsigned bits, unsigned bit_count) override {
    inflateReset(&stream_);
    if (!window.empty() &&
        inflateSetDictionary(&stream_, bytes(window.data()), clamp_to_32_bits(window.size())) == Z_MEM_ERROR)
      throw std::bad_alloc();
    inflatePrime(&stream_, static_cast<int>(bit_count), static_cast<int>(bits));
  }

  InflateStatus inflate(std::span<const char>& input, std::span<char>& output) override {
    stream_.next_in = bytes(input.data());
    stream_.avail_in = clamp_to_32_bits(input.size());
    stream_.next_out = bytes(output.data());
    stream_.avail_out = clamp_to_32_bits(output.size());
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    input = input.subspan(static_cast<std::size_t>(stream_.next_in - bytes(input.data())));
    output = output.subspan(static_cast<std::size_t>(stream_.next_out - bytes(output.data())));
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result == Z_STREAM_END) return InflateStatus::end;
    return result == Z_OK || result == Z_BUF_ERROR ? InflateStatus::going_on : InflateStatus::corrupt;
  }

  [[nodiscard]] bool is_in_final_block() const noexcept override {
    constexpr int kInFinalBlock = 64;  // inflate() in zlib.h says so, with Z_BLOCK; it is set without, too
    return (stream_.data_type & kInFinalBlock) != 0;
  }

  void become(const DeflateInflater& other) override {
    inflateEnd(&stream_);
    z_stream& source = const_cast<z_stream&>(static_cast<const ZlibInflater&>(other).stream_);
    if (inflateCopy(&stream_, &source) != Z_OK) throw std::bad_alloc();
  }

 private:
  z_stream stream_ = {};
};

#ifdef WARPMER_HAVE_ISAL

class IsalInflater final : public DeflateInflater {
 public:
  IsalInflater() { IsalInflater::start({}, 0, 0); }

  void start(std::string_view window, unsigned bits, unsigned bit_count) override {
    isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_DEFLATE;
    if (!window.empty())
      isal_inflate_set_dict(state_.get(), bytes(window.data()), clamp_to_32_bits(window.size()));
    state_->read_in = bits;
    state_->read_in_length = static_cast<std::int32_t>(bit_count);
  }

  InflateStatus inflate(std::span<const char>& input, std::span<char>& output) override {
    state_->next_in = bytes(input.data());
    state_->avail_in = clamp_to_32_bits(input.size());
    state_->next_out = bytes(output.data());
    state_->avail_out = clamp_to_32_bits(output.size());
    const int result = isal_inflate(state_.get());
    const bool is_end = result == ISAL_DECOMP_OK && state_->block_state == ISAL_BLOCK_FINISH;
    // Bytes that were taken too many go back, be they of this input or of an earlier one.
    const std::size_t unneeded = is_end ? static_cast<std::size_t>(state_->read_in_length) / 8 : 0;
    const std::size_t not_given = input.size() - clamp_to_32_bits(input.size());
    input = {reinterpret_cast<const char*>(state_->next_in) - unneeded,
             state_->avail_in + unneeded + not_given};
    output = output.subspan(static_cast<std::size_t>(state_->next_out - bytes(output.data())));
    if (result != ISAL_DECOMP_OK) return InflateStatus::corrupt;
    return is_end ? InflateStatus::end : InflateStatus::going_on;
  }

  [[nodiscard]] bool is_in_final_block() const noexcept override { return state_->bfinal != 0; }

  void become(const DeflateInflater& other) override {
    *state_ = *static_cast<const IsalInflater&>(other).state_;
  }

 private:
  std::unique_ptr<inflate_state> state_ = std::make_unique<inflate_state>();
};

#endif

}  // namespace

std::uint32_t join_gzip_crcs(std::uint32_t first, std::uint32_t second, std::size_t second_size) {
  return static_cast<std::uint32_t>(::crc32_combine(first, second, static_cast<z_off_t>(second_size)));
}

std::unique_ptr<DeflateInflater> make_zlib_inflater() { return std::make_unique<ZlibInflater>(); }

#ifdef WARPMER_HAVE_ISAL

std::unique_ptr<DeflateInflater> make_inflater() { return std::make_unique<IsalInflater>(); }

std::uint32_t gzip_crc(std::uint32_t crc, std::string_view text) {
  return crc32_gzip_refl(crc, bytes(text.data()), text.size());
}

struct BlockInflater::State {
  inflate_state isal;
};

BlockInflater::BlockInflater() : state_(std::make_unique<State>()) {}

BlockInflater::~BlockInflater() = default;

bool BlockInflater::inflate(std::span<const char> deflated, std::span<char> text, std::uint32_t crc) {
  inflate_state& isal = state_->isal;
  isal_inflate_init(&isal);
  isal.crc_flag = ISAL_DEFLATE;
  isal.next_in = bytes(deflated.data());
  isal.avail_in = clamp_to_32_bits(deflated.size());
  isal.next_out = bytes(text.data());
  isal.avail_out = clamp_to_32_bits(text.size());
  if (isal_inflate_stateless(&isal) != ISAL_DECOMP_OK) return false;
  if (isal.avail_out != 0) return false;
  return gzip_crc(0, {text.data(), text.size()}) == crc;
}

#else

std::unique_ptr<DeflateInflater> make_inflater() { return make_zlib_inflater(); }

std::uint32_t gzip_crc(std::uint32_t crc, std::string_view text) {
  return static_cast<std::uint32_t>(::crc32_z(crc, bytes(text.data()), text.size()));
}

struct BlockInflater::State {
  z_stream stream = {};
};

BlockInflater::BlockInflater() : state_(std::make_unique<State>()) {
  if (inflateInit2(&state_->stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
}

BlockInflater::~BlockInflater() { inflateEnd(&state_->stream); }

bool BlockInflater::inflate(std::span<const char> deflated, std::span<char> text, std::uint32_t crc) {
  z_stream& stream = state_->stream;
  inflateReset(&stream);
  stream.next_in = bytes(deflated.data());
  stream.avail_in = clamp_to_32_bits(deflated.size());
  stream.next_out = bytes(text.data());
  stream.avail_out = clamp_to_32_bits(text.size());
  // An empty block still needs some place to not write to.
  unsigned char nowhere = 0;
  if (text.empty()) {
    stream.next_out = &nowhere;
    stream.avail_out = 1;
  }
  if (::inflate(&stream, Z_FINISH) != Z_STREAM_END) return false;
  if (stream.total_out != text.size()) return false;
  return gzip_crc(0, {text.data(), text.size()}) == crc;
}

#endif

}  // namespace warpmer::io
