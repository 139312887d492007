#pragma once
/// Pending words that are in the spill file: how a shard's words get there, several shards in one large
/// write, and how they come back, one slice after another.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cpu/count/pending_store.h"
#include "cpu/count/spilled_extents.h"
#include "cpu/memory/scratch.h"
#include "file/checksum.h"
#include "file/spill_file.h"

namespace warpmer::cpu {

/// The words that a shard has in the spill file: a chain of slices, of which only the last is known here. So
/// a session needs no more memory the more it spills.
struct SpilledWords {
  file::Spilled last;       ///< has no bytes when there is none
  std::uint64_t words = 0;  ///< in all slices
  std::uint64_t kmers = 0;  ///< in all words
};

/// A slice is this, and then words, as they are on pages.
struct SliceHead {
  file::Spilled before;     ///< the shard's slice before this one
  std::uint32_t words = 0;  ///< words of this slice
  std::uint32_t kmers = 0;
};

/// Gathers slices where they lie, in pages, and writes them together.
template <class Word>
class SliceBatch {
 public:
  /// Pages of a slice, at most.
  static constexpr std::uint32_t kSlicePages = 16;
  static constexpr std::uint64_t kMostSliceBytes =
      sizeof(SliceHead) + kSlicePages * PendingPage<Word>::kBytes;

  /// Notes in `extents` what is written, whose pages go back to `store`.
  SliceBatch(file::SpillFile& file, SpilledExtents& extents, PendingStore<Word>& store)
      : file_(file), extents_(extents), store_(store) {}

  /// Adds a list to what the file has of a shard. A long one is written in parts, whose pages can be used
  /// again while the others wait.
  void add(SpilledWords& shard, PendingList<Word>&& list) {
    while (list.pages > 0) {
      if (pages_ >= kMostPages) flush();
      slices_.push_back({&shard, list.take_pages(kSlicePages), {}});
      pages_ += slices_.back().list.pages;
    }
  }

  /// Writes what has been added.
  void flush() {
    if (slices_.empty()) return;
    std::vector<file::WritePiece> pieces;
    pieces.reserve(slices_.size() + pages_);
    for (Slice& slice : slices_) {
      slice.head.words = static_cast<std::uint32_t>(slice.list.words);
      slice.head.kmers = static_cast<std::uint32_t>(slice.list.kmers);
      pieces.push_back({&slice.head, sizeof slice.head});
      slice.list.for_each_page([&](const char* data, const PageContent& content) {
        pieces.push_back({data, content.bytes});
      });
    }
    const Extent written{file_.allocate(file::bytes_of(pieces)), file::bytes_of(pieces)};
    std::uint64_t at = written.offset;
    const file::WritePiece* first = pieces.data();
    for (Slice& slice : slices_) {
      const std::span<const file::WritePiece> own(first, 1 + std::size_t{slice.list.pages});
      first += own.size();
      SpilledWords& shard = *slice.shard;
      slice.head.before = shard.last;
      shard.last = {at, file::bytes_of(own), file::checksum(own)};
      shard.words += slice.head.words;
      shard.kmers += slice.head.kmers;
      at += shard.last.bytes;
    }
    file_.write(written.offset, pieces);
    extents_.note(written);
    for (const Slice& slice : slices_) store_.release(slice.list);
    slices_.clear();
    pages_ = 0;
  }

 private:
  /// Most pages in one write, about: 4 MB.
  static constexpr std::size_t kMostPages = 1024;
  struct Slice {
    SpilledWords* shard;
    PendingList<Word> list;
    SliceHead head;
  };

  file::SpillFile& file_;
  SpilledExtents& extents_;
  PendingStore<Word>& store_;
  std::vector<Slice> slices_;
  std::size_t pages_ = 0;  ///< pages of all slices
};

/// All words of a shard, those in memory and then those in the file, taken from the front in chunks.
template <class Word>
class ShardWords {
 public:
  /// A thread's room for a slice.
  using Buffer = Scratch<char>;

  /// Pages of `list` go back to `pool` when the chunk they were in is done with. `file` may be null when
  /// nothing is in it. Time spent reading it is added to `read_seconds`.
  ShardWords(const WordFormat<Word>& format, PendingList<Word> list, PagePool& pool,
             const SpilledWords& spilled, file::SpillFile* file, Buffer& buffer, double& read_seconds)
      : format_(format),
        rest_(list),
        pool_(pool),
        spilled_(spilled),
        file_(file),
        buffer_(buffer),
        read_seconds_(read_seconds) {}
  ~ShardWords() {
    release(front_);
    release(rest_);
  }
  ShardWords(const ShardWords&) = delete;
  ShardWords& operator=(const ShardWords&) = delete;

  /// Return the number of words not yet in any chunk, and k-mers in them.
  [[nodiscard]] std::uint64_t left() const { return rest_.words + spilled_.words; }
  [[nodiscard]] std::uint64_t kmers_left() const { return rest_.kmers + spilled_.kmers; }

  /// Begins a chunk: about the next `most` words.
  void begin_chunk(std::uint64_t most) {
    end_chunk();
    front_ = rest_.take_front(most);
    from_file_ = std::min(spilled_.words, most - std::min(most, front_.words));
  }
  /// Gives the chunk's pages back.
  void end_chunk() { release(front_); }
  /// Returns what is in memory and in no chunk yet; it is the caller's.
  [[nodiscard]] PendingList<Word> take_rest() { return std::exchange(rest_, {}); }

  // The chunk.
  /// Returns what its pages in memory take.
  [[nodiscard]] std::uint64_t page_bytes() const { return front_.pages * PagePool::kPageBytes; }
  [[nodiscard]] std::uint64_t size() const { return front_.words + from_file_; }
  template <class Visit>
  void for_each_page(Visit&& visit) {
    ListedWords<Word>{format_, front_}.for_each_page(visit);
    visit_slices(spilled_, from_file_, visit);
  }

 private:
  void release(PendingList<Word>& list) {
    if (list.pages > 0) pool_.release(list.first, list.last, list.pages);
    list = {};
  }

  /// Takes slices with `most` words, rounded up, away from `spilled`.
  template <class Visit>
  void visit_slices(SpilledWords& spilled, std::uint64_t most, Visit&& visit) {
    for (std::uint64_t seen = 0; seen < most;) {
      const std::uint32_t words = read_slice(spilled);
      for_each_word(format_, buffer_.data() + sizeof(SliceHead), words, visit);
      seen += words;
    }
  }

  /// Reads the last slice, takes it away, and returns how many words it has.
  std::uint32_t read_slice(SpilledWords& spilled) {
    const Stopwatch watch(read_seconds_);
    char* const to = buffer_.get(SliceBatch<Word>::kMostSliceBytes + WordFormat<Word>::kMostBytes);
    file_->read(spilled.last, to);
    SliceHead head;
    std::memcpy(&head, to, sizeof head);
    spilled.kmers -= head.kmers;
    spilled.words -= head.words;
    spilled.last = head.before;
    return head.words;
  }

  const WordFormat<Word>& format_;
  PendingList<Word> front_, rest_;
  PagePool& pool_;
  SpilledWords spilled_;
  file::SpillFile* file_;
  Buffer& buffer_;
  double& read_seconds_;
  std::uint64_t from_file_ = 0;  ///< words of the chunk that are in the file
};

}  // namespace warpmer::cpu
