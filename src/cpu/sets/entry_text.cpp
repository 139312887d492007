// The k-mers of an index as text, by several threads: a piece of the index, or a bin of sorted k-mers, is
// unpacked, put into lines and handed on in order.

#include "backend/indexes/entry_text.h"

#include <cstring>
#include <memory>
#include <utility>

#include "base/thread_team.h"
#include "cpu/sets/count_text.h"
#include "cpu/sets/entry_sorter.h"
#include "cpu/sets/shard_pieces.h"
#include "cpu/sets/sorted_lists.h"
#include "file/output/ordered_text.h"
#include "kmer/kmer.h"
#include "kmer/packed_words.h"

namespace warpmer::cpu {

namespace {

using backend::EntryFormat;

/// Entries of a piece, about.
constexpr std::uint64_t kPieceEntries = std::uint64_t{1} << 14;
constexpr std::size_t kLineRoom = kKmerRoom + kCountRoom + 3;

template <EntryFormat kFormat, class Key>
[[gnu::always_inline]] inline char* write_line(char* out, Key kmer, std::uint64_t count, std::uint32_t k) {
  if constexpr (kFormat == EntryFormat::packed_kmers) {
    std::uint64_t words[kPackedWords<Key>];
    write_packed(kmer, words);
    std::memcpy(out, words, sizeof(words));
    return out + sizeof(words);
  } else if constexpr (kFormat == EntryFormat::raw_counts) {
    std::memcpy(out, &count, sizeof(count));
    return out + sizeof(count);
  }
  if constexpr (kFormat == EntryFormat::fasta) {
    *out++ = '>';
    out = write_count(out, count);
    *out++ = '\n';
  }
  write_kmer(kmer, k, out);
  out += k;
  if constexpr (kFormat == EntryFormat::tsv) {
    *out++ = '\t';
    out = write_count(out, count);
  }
  *out++ = '\n';
  return out;
}

template <class Key, EntryFormat kFormat>
class EntryTextWriter {
 public:
  EntryTextWriter(const index::IndexFile& index, const backend::EntryTextPlan& plan,
                  const file::OrderedText::Write& write)
      : index_(index),
        plan_(plan),
        k_(index.params().k),
        text_(plan.resources.threads, backend::entries_within(index, plan.bounds), write) {}

  void run() {
    if (plan_.sorted) {
      write_sorted();
    } else {
      write_in_order_of_file();
    }
  }

 private:
  /// Appends lines of `n` entries; `entry(i)` gives the k-mer and the count of one. Text that becomes too
  /// long is handed on.
  template <class EntryOf>
  void append(file::TextBuffer& buffer, std::uint64_t ordinal, std::size_t n, EntryOf&& entry) {
    constexpr std::size_t kStep = 4096;
    for (std::size_t first = 0; first < n; first += kStep) {
      const std::size_t end = std::min(n, first + kStep);
      if (buffer.size() > file::OrderedText::kMostBytes - kStep * kLineRoom) text_.put_part(ordinal, buffer);
      char* out = buffer.reserve((end - first) * kLineRoom);
      for (std::size_t i = first; i < end; ++i) {
        const auto [kmer, count] = entry(i);
        out = write_line<kFormat>(out, kmer, count, k_);
      }
      buffer.commit(out);
      buffer.add_done(end - first);
    }
  }

  /// Calls `make(thread's state, number, buffer)` for all texts from `begin` to `end`.
  template <class State, class Make>
  void make_texts(std::uint64_t begin, std::uint64_t end, Make&& make) {
    share_numbers(
        plan_.resources.threads, begin, end,
        [&](unsigned /*thread*/, SharedNumbers& numbers) {
          State state;
          for (std::uint64_t number; numbers.take(number);) {
            file::OrderedText::Buffer buffer = text_.take();
            make(state, number, *buffer);
            text_.put(number, std::move(buffer));
          }
        },
        [&] { text_.stop(); });
  }

  void write_in_order_of_file() {
    struct State {
      std::unique_ptr<ShardParts<Key>> parts;
      ListBuffer<Key> list;
    };
    const std::vector<ShardPiece> pieces =
        cut_into_pieces(index_.params().shards(), kPieceEntries, most_part_bits(index_.params()),
                        [&](std::uint32_t shard) { return index_.kmers(shard); });
    make_texts<State>(0, pieces.size(), [&](State& state, std::uint64_t number, file::TextBuffer& buffer) {
      if (!state.parts)
        state.parts = std::make_unique<ShardParts<Key>>(std::span(&index_, 1), std::span(&plan_.bounds, 1));
      read_piece(*state.parts, pieces[number], state.list, [&](const ListBuffer<Key>& list) {
        const Key* const kmers = list.hashes();
        const std::uint64_t* const counts = list.counts();
        append(buffer, number, list.size, [&](std::size_t i) { return std::pair(kmers[i], counts[i]); });
      });
    });
  }

  void write_sorted() {
    using Sorter = EntrySorter<Key>;
    const unsigned threads = plan_.resources.threads;
    Sorter sorter(index_, plan_.bounds, threads, plan_.resources.memory_bytes,
                  threads * Sorter::kBytesOfOrderedBin + file::OrderedText::memory_bytes(threads));
    using Ordered = typename Sorter::Ordered;
    for (std::uint32_t first = 0; first < sorter.bins();) {
      const auto range = sorter.gather(first);
      make_texts<Ordered>(
          range.first, range.end, [&](Ordered& state, std::uint64_t number, file::TextBuffer& buffer) {
            const auto bin = static_cast<std::uint32_t>(number);
            sorter.order(bin, state);
            const Key* const words = state.words.data();
            append(buffer, number, state.size, [&](std::size_t i) { return sorter.entry(bin, words[i]); });
          });
      first = range.end;
    }
  }

  const index::IndexFile& index_;
  const backend::EntryTextPlan& plan_;
  std::uint32_t k_;
  file::OrderedText text_;
};

}  // namespace

}  // namespace warpmer::cpu

namespace warpmer::backend {

void write_entries(const index::IndexFile& index, const EntryTextPlan& plan,
                   const std::function<void(std::string_view, const Progress&)>& write) {
  with_key_type(index.params().k, [&](auto zero) {
    using Key = decltype(zero);
    switch (plan.format) {
      case EntryFormat::tsv:
        return cpu::EntryTextWriter<Key, EntryFormat::tsv>(index, plan, write).run();
      case EntryFormat::fasta:
        return cpu::EntryTextWriter<Key, EntryFormat::fasta>(index, plan, write).run();
      case EntryFormat::packed_kmers:
        return cpu::EntryTextWriter<Key, EntryFormat::packed_kmers>(index, plan, write).run();
      case EntryFormat::raw_counts:
        return cpu::EntryTextWriter<Key, EntryFormat::raw_counts>(index, plan, write).run();
    }
  });
}

}  // namespace warpmer::backend
