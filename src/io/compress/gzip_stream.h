#pragma once
/// Plain gzip: one or more members, decompressed one after another, by several threads if need be.

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "file/byte_file.h"
#include "io/blocks/read_ahead.h"
#include "io/blocks/speculative_turns.h"
#include "io/compress/deflate_window.h"
#include "io/compress/gzip_members.h"

namespace warpmer::io {

/// Cuts the file into pieces, and makes a text block of each. What a piece stands for depends on all before
/// it, so they have their turns (`SpeculativeTurns`), and the decompressor and its window go from one to the
/// next.
///
/// With several threads, when the reader has little text, a piece is decompressed before its turn, by
/// guessing (`DeflateWindow`): from the first place in it where a block seems to start (`find_block`) to the
/// first such place in the next piece. The guess is right if the chunk before really ended there; then only
/// what came out of the window is looked up. Otherwise it is decompressed in its turn, as is a piece without
/// such a place.
class GzipStream final : public TextBlockLoader {
 public:
  /// Returns how many of the `threads` that a job has are worth having here: few of them count no faster than
  /// one decompresses, and many decompress faster than any reader reads.
  static unsigned useful_threads(unsigned threads);
  static constexpr unsigned kMostThreads = 16;

  /// Room in a text block of a stream for one thread, which any number of them may call.
  static constexpr std::size_t kTextBytes = std::size_t{512} << 10;

  /// Makes a stream for `threads` threads that call `load` and `work`. `members`: that were taken of the
  /// file.
  GzipStream(std::unique_ptr<file::ByteFile> file, unsigned threads, InflaterMaker make = make_inflater,
             std::uint64_t members = 0);
  ~GzipStream() override;

  [[nodiscard]] std::size_t text_capacity() const noexcept override { return shape_.text_bytes; }
  bool load(TextBlock& out) override;
  void work(TextBlock& out) override;
  bool hand_over(TextBlock& out) override;
  void stop() noexcept override;

  /// Returns the most bytes that a stream and its text blocks hold, text included; also where two readers
  /// decompress, which is a matter of one thread at a time, in as large a ring.
  static std::uint64_t memory_bytes(unsigned threads);

  /// Chunks that were decompressed before their turn, and rightly.
  [[nodiscard]] std::uint64_t speculative_chunks() const noexcept { return speculative_chunks_; }

 private:
  struct BufferSizes {
    std::size_t text_bytes;  ///< room in a text block
    std::size_t raw_bytes;   ///< bytes of a chunk, at most
    double share;            ///< share of the room that the text of a chunk should fill
    bool looks_for_blocks;
  };
  struct FilePiece;
  struct GzipChunk;
  struct Decoder;
  enum class DecodeState { text_full, at_block, inside, failed };

  static BufferSizes shape(unsigned threads);
  static GzipChunk& chunk_of(TextBlock& out);
  std::shared_ptr<FilePiece> read_piece(const FilePiece* before);

  static DecodeState decode(GzipMembers& members, GzipChunk& chunk, std::span<char>& text);
  std::unique_ptr<Decoder> decode_speculatively(TextBlock& out, GzipChunk& chunk);
  bool accept(GzipChunk& chunk);
  void complete_accepted(GzipChunk& chunk);
  void decode_in_turn(TextBlock& out, GzipChunk& chunk);
  void move_window(std::string_view text, const GzipChunk& chunk);
  void leave(GzipChunk& chunk, bool is_at_block) noexcept;
  void end_turn();
  void check(const GzipChunk& chunk);
  void check_bgzf_end(const GzipTrailer& member);
  bool may_speculate(const GzipChunk& chunk);

  std::unique_ptr<Decoder> take_decoder();
  void give_back(std::unique_ptr<Decoder> decoder);

  [[noreturn]] void fail(const GzipChunk& chunk);
  [[noreturn]] void fail_truncated(const GzipChunk& chunk);
  [[noreturn]] void fail_bgzf_end();
  [[noreturn]] void fail_corrupt(const GzipChunk& chunk, std::uint64_t ended);

  std::unique_ptr<file::ByteFile> file_;
  const InflaterMaker make_;
  const BufferSizes shape_;
  std::atomic<double> text_per_raw_;  ///< ratio of the chunk decompressed last
  std::atomic<std::uint64_t> speculative_chunks_ = 0;

  // These belong to the thread that loads.
  std::uint64_t next_number_ = 0;
  std::shared_ptr<FilePiece> ahead_;  ///< piece of the next chunk
  bool is_at_end_ = false;
  std::exception_ptr read_error_;  ///< error of what comes after the next chunk
  std::uint64_t loaded_bytes_;

  std::mutex mutex_;  ///< guards what follows
  SpeculativeTurns<GzipChunk> turns_;
  std::vector<std::unique_ptr<Decoder>> spare_decoders_;

  // These belong to the thread that has the turn.
  GzipMembers members_;
  DeflateWindow window_;
  bool is_at_block_ = false;  ///< the chunk before ended at the first block of this one's piece
  std::size_t taken_ = 0;     ///< bytes of this one's piece that the chunk before has taken
  std::uint64_t ended_members_;

  // These belong to the reader.
  std::uint64_t checked_members_;
  std::uint32_t crc_ = 0;        ///< checksum of the member's text so far
  std::uint64_t size_ = 0;       ///< size of that
  bool lacks_bgzf_end_ = false;  ///< the last member was a BGZF block, and not the empty one that ends these
};

}  // namespace warpmer::io
