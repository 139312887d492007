// The k-mers of an index as text, by several threads: a piece of the index, or a bin of sorted k-mers, is
// unpacked, put into lines and handed on in order.

#include "engine/entry_text.h"

#include <atomic>
#include <memory>
#include <utility>

#include "core/hash.h"
#include "core/kmer.h"
#include "cpu/count_text.h"
#include "cpu/entry_sorter.h"
#include "cpu/shard_pieces.h"
#include "cpu/sorted_lists.h"
#include "engine/ordered_text.h"
#include "engine/thread_team.h"

namespace warpmer::cpu {

namespace {

using engine::EntryFormat;
using engine::OrderedText;
using engine::TextBuffer;

/// Entries of a piece, about.
constexpr std::uint64_t kPieceEntries = std::uint64_t{1} << 14;
constexpr std::size_t kLineRoom = kKmerRoom + kCountRoom + 3;

template <EntryFormat kFormat, class Key>
[[gnu::always_inline]] inline char* write_line(char* out, Key kmer, std::uint64_t count, std::uint32_t k) {
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
  EntryTextWriter(const index::IndexFile& index, const engine::EntryTextPlan& plan,
                  const OrderedText::Write& write)
      : index_(index),
        plan_(plan),
        k_(index.params().k),
        hash_(k_),
        text_(plan.threads, engine::entries_within(index, plan.bounds), write) {}

  void run() {
    if (plan_.sorted) {
      write_sorted();
    } else {
      write_in_order_of_file();
    }
  }

 private:
  /// Lines of `n` entries; `entry(i)` gives the k-mer and the count of one. What becomes too long is handed
  /// on.
  template <class EntryOf>
  void append(TextBuffer& buffer, std::uint64_t ordinal, std::size_t n, EntryOf&& entry) {
    constexpr std::size_t kStep = 4096;
    for (std::size_t first = 0; first < n; first += kStep) {
      const std::size_t end = std::min(n, first + kStep);
      if (buffer.size() > OrderedText::kMostBytes - kStep * kLineRoom) text_.put_part(ordinal, buffer);
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
    std::atomic<std::uint64_t> next{begin};
    engine::run_team(
        plan_.threads,
        [&](unsigned) {
          State state;
          for (std::uint64_t number; (number = next.fetch_add(1)) < end;) {
            OrderedText::Buffer buffer = text_.take();
            make(state, number, *buffer);
            text_.put(number, std::move(buffer));
          }
        },
        [&] {
          next = end;
          text_.stop();
        });
  }

  void write_in_order_of_file() {
    struct State {
      std::unique_ptr<ShardParts<Key>> parts;
      ListBuffer<Key> list;
    };
    const std::vector<ShardPiece> pieces =
        cut_into_pieces(index_.params().shards(), kPieceEntries, k_,
                        [&](std::uint32_t shard) { return index_.shape(shard).entries; });
    make_texts<State>(0, pieces.size(), [&](State& state, std::uint64_t number, TextBuffer& buffer) {
      if (!state.parts)
        state.parts = std::make_unique<ShardParts<Key>>(std::span(&index_, 1), std::span(&plan_.bounds, 1));
      read_piece(*state.parts, pieces[number], state.list, [&](const ListBuffer<Key>& list) {
        const Key* const hashes = list.hashes();
        const std::uint64_t* const counts = list.counts();
        append(buffer, number, list.size,
               [&](std::size_t i) { return std::pair(hash_.inverse(hashes[i]), counts[i]); });
      });
    });
  }

  void write_sorted() {
    EntrySorter<Key> sorter(index_, plan_.bounds, plan_.threads, plan_.memory_bytes,
                            OrderedText::memory_bytes(plan_.threads));
    using Ordered = typename EntrySorter<Key>::Ordered;
    for (std::uint32_t first = 0; first < sorter.bins();) {
      const auto range = sorter.gather(first);
      make_texts<Ordered>(
          range.first, range.end, [&](Ordered& state, std::uint64_t number, TextBuffer& buffer) {
            const auto bin = static_cast<std::uint32_t>(number);
            sorter.order(bin, state);
            const Key* const words = state.words.data();
            append(buffer, number, state.size, [&](std::size_t i) { return sorter.entry(bin, words[i]); });
          });
      first = range.end;
    }
  }

  const index::IndexFile& index_;
  const engine::EntryTextPlan& plan_;
  std::uint32_t k_;
  KmerHash<Key> hash_;
  OrderedText text_;
};

}  // namespace

}  // namespace warpmer::cpu

namespace warpmer::engine {

void write_entries(const index::IndexFile& index, const EntryTextPlan& plan,
                   const std::function<void(std::string_view, const index::Share&)>& write) {
  with_key_type(index.params().k, [&](auto zero) {
    using Key = decltype(zero);
    if (plan.format == EntryFormat::tsv) {
      cpu::EntryTextWriter<Key, EntryFormat::tsv>(index, plan, write).run();
    } else {
      cpu::EntryTextWriter<Key, EntryFormat::fasta>(index, plan, write).run();
    }
  });
}

}  // namespace warpmer::engine
