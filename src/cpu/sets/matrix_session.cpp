// A table of k-mers and samples, on the CPU: the k-mers of a part of a shard, each with the samples that have
// it, become rows; and the rows of a table that is there already are merged with them.

#include "backend/indexes/matrix_session.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/sets/count_text.h"
#include "cpu/sets/sample_groups.h"
#include "cpu/sets/shard_pieces.h"
#include "cpu/sets/sorted_lists.h"
#include "file/output/ordered_text.h"
#include "kmer/kmer.h"

namespace warpmer::cpu {

namespace {

/// Returns the number of entries of a part of a shard in all inputs, about: few enough that their rows are
/// one text, enough to be worth looking for in every input.
std::uint64_t entries_of_part(std::uint32_t k, std::size_t columns, std::size_t inputs) {
  constexpr std::uint64_t kLeastOfInput = 8;
  return std::max<std::uint64_t>(
      kLeastOfInput * inputs,
      std::min<std::uint64_t>(kPartEntries, file::OrderedText::kMostBytes / (k + 2 * columns)));
}

/// Writes rows of `old_samples` numbers that are known already and one for each of `inputs` samples.
template <class Key>
class MatrixRowWriter {
 public:
  using Entry = SampleEntry<Key>;

  MatrixRowWriter(const index::IndexParams& params, bool presence, std::size_t old_samples,
                  std::size_t inputs)
      : k_(params.k), keys_(params), presence_(presence), old_samples_(old_samples), inputs_(inputs) {
    for (std::size_t i = 0; i < std::max(old_samples, inputs); ++i) zeros_ += "\t0";
  }

  /// Writes a k-mer of a shard that the old samples do not have; `begin` to `end` say which of the inputs do.
  void write_new(file::TextBuffer& out, std::uint32_t shard, const Entry* begin, const Entry* end) const {
    char* at = out.reserve(kKmerRoom + 2 * old_samples_ + room());
    write_kmer(keys_.kmer(shard, begin->hash), k_, at);
    out.commit(write_numbers(write_zeros(at + k_, old_samples_), begin, end));
  }
  /// Writes a row as it was, with the inputs' numbers.
  void write_old(file::TextBuffer& out, std::string_view row, const Entry* begin, const Entry* end) const {
    char* at = out.reserve(row.size() + room());
    std::memcpy(at, row.data(), row.size());
    out.commit(write_numbers(at + row.size(), begin, end));
  }

 private:
  /// Returns the characters that the inputs' numbers take, at most.
  [[nodiscard]] std::size_t room() const { return inputs_ * (kCountRoom + 1) + 1; }

  char* write_zeros(char* at, std::size_t n) const {
    std::memcpy(at, zeros_.data(), 2 * n);
    return at + 2 * n;
  }
  char* write_numbers(char* at, const Entry* begin, const Entry* end) const {
    std::size_t sample = 0;
    for (const Entry* entry = begin; entry < end; ++entry) {
      at = write_zeros(at, entry->sample - sample);
      *at++ = '\t';
      at = write_count(at, presence_ ? 1 : entry->count);
      sample = entry->sample + std::size_t{1};
    }
    at = write_zeros(at, inputs_ - sample);
    *at++ = '\n';
    return at;
  }

  std::uint32_t k_;
  ShardKeys<Key> keys_;
  bool presence_;
  std::size_t old_samples_;
  std::size_t inputs_;
  std::string zeros_;
};

/// A matrix of nothing but indexes: threads take pieces of them.
template <class Key>
class MatrixMaker : public backend::MatrixSession {
 public:
  MatrixMaker(const backend::MatrixPlan& plan, const std::vector<index::IndexFile>& inputs)
      : plan_(plan),
        budget_(plan.memory,
                plan.memory.threads *
                    SampleGroups<Key>::bytes_for(
                        inputs, entries_of_part(inputs.front().params().k, inputs.size(), inputs.size()))),
        rows_(inputs.front().params(), plan.presence, 0, inputs.size()),
        pieces_(cut_into_pieces(inputs.front().params().shards(),
                                entries_of_part(inputs.front().params().k, inputs.size(), inputs.size()),
                                most_part_bits(inputs.front().params()),
                                [&](std::uint32_t shard) { return entries_in(inputs, shard); })) {
    for (unsigned t = 0; t < plan.memory.threads; ++t)
      readers_.emplace_back(inputs, plan_.of_inputs, budget_);
  }

  void write_rows(unsigned thread, file::OrderedText& text,
                  const std::function<void(std::uint32_t)>& shards_done) override {
    for (std::size_t number; (number = next_piece_.fetch_add(1)) < pieces_.size();) {
      file::OrderedText::Buffer buffer = text.take();
      write_piece(readers_[thread], number, text, *buffer);
      text.put(number, std::move(buffer));
      shards_done(pieces_[number].first_shard + pieces_[number].shards);
    }
  }
  void cancel() noexcept override { next_piece_ = pieces_.size(); }

 private:
  void write_piece(SampleGroups<Key>& reader, std::size_t number, file::OrderedText& text,
                   file::TextBuffer& buffer) {
    const ShardPiece& piece = pieces_[number];
    for (std::uint32_t shard = piece.first_shard; shard < piece.first_shard + piece.shards; ++shard) {
      reader.shard().open(shard, piece.part_bits);
      reader.for_each(piece.part, [&](const SampleEntry<Key>* begin, const SampleEntry<Key>* end) {
        buffer.add_done(static_cast<std::uint64_t>(end - begin));
        if (static_cast<std::size_t>(end - begin) < plan_.min_samples) return;
        if (buffer.size() > file::OrderedText::kMostBytes) text.put_part(number, buffer);
        rows_.write_new(buffer, shard, begin, end);
      });
      reader.shard().close();
    }
  }

  const backend::MatrixPlan plan_;
  MemoryBudget budget_;
  const MatrixRowWriter<Key> rows_;
  const std::vector<ShardPiece> pieces_;
  std::deque<SampleGroups<Key>> readers_;
  std::atomic<std::size_t> next_piece_{0};
};

/// A matrix that gets more columns: threads take some of its rows, and from the indexes what belongs behind
/// the row before them, up to the last of them.
template <class Key>
class MatrixExtender : public backend::MatrixSession {
 public:
  MatrixExtender(const backend::MatrixPlan& plan, const std::vector<index::IndexFile>& inputs,
                 formats::MatrixFile& old)
      : plan_(plan),
        inputs_(inputs),
        old_(old),
        k_(inputs.front().params().k),
        shard_bits_(inputs.front().params().shard_bits),
        keys_(inputs.front().params()),
        wanted_(entries_of_part(k_, old.samples().size() + inputs.size(), inputs.size())),
        budget_(plan.memory, plan.memory.threads * bytes_of_thread()),
        rows_(inputs.front().params(), plan.presence, old.samples().size(), inputs.size()) {
    for (unsigned t = 0; t < plan.memory.threads; ++t) workers_.emplace_back(inputs, plan_, budget_);
  }

  void write_rows(unsigned thread, file::OrderedText& text,
                  const std::function<void(std::uint32_t)>& shards_done) override {
    RowWorker& worker = workers_[thread];
    while (old_.next(worker.text)) {
      file::OrderedText::Buffer buffer = text.take();
      shards_done(extend(worker, text, *buffer));
      buffer->add_done(worker.text.disk_bytes);
      text.put(worker.text.ordinal, std::move(buffer));
    }
  }
  void cancel() noexcept override { old_.cancel(); }

 private:
  using Place = typename ShardKeys<Key>::KmerPlace;
  using Entry = SampleEntry<Key>;

  struct OldRow {
    Place place;
    std::size_t begin;
    std::uint32_t bytes;
    std::uint32_t samples;
  };
  struct RowWorker {
    RowWorker(std::span<const index::IndexFile> inputs, const backend::MatrixPlan& plan, MemoryBudget& budget)
        : reader(inputs, plan.of_inputs, budget) {}
    SampleGroups<Key> reader;
    formats::MatrixRows text;
    std::vector<OldRow> rows;
  };

  /// Returns what a thread holds, at most: of the old matrix, text of twice what is read at a time, and as a
  /// vector grows twice the places of its rows.
  [[nodiscard]] std::uint64_t bytes_of_thread() const {
    constexpr std::uint64_t kTextBytes = 2 * formats::MatrixFile::kRowBytes;
    const std::uint64_t least_row = k_ + 2 * old_.samples().size() + 1;
    return SampleGroups<Key>::bytes_for(inputs_, wanted_) + kTextBytes +
           2 * kTextBytes / least_row * sizeof(OldRow);
  }

  [[nodiscard]] Place place_of(std::string_view kmer, std::uint64_t line) const {
    Key key = 0;
    if (kmer.size() != k_ || !kmer_from_text(kmer, key))
      old_.fail(line, fmt::format("a row should begin with a k-mer of {} bases", k_));
    if (old_.format().canonical && canonical(key, k_) != key)
      old_.fail(line, fmt::format("{} is not canonical: its other strand comes first in the alphabet", kmer));
    return keys_.place(key);
  }

  /// Checks the rows and finds their places.
  void parse(RowWorker& worker, std::optional<Place> before) const {
    worker.rows.clear();
    const std::string_view text = worker.text.text;
    std::uint64_t line = worker.text.first_line;
    for (std::size_t begin = 0; begin < text.size(); ++line) {
      const formats::MatrixRow row = old_.read_row(text.substr(begin), line);
      const Place place = place_of(row.kmer, line);
      if (before && place <= *before) {
        old_.fail(line, fmt::format(
                            "{} does not belong behind the row before it; rows must be in the order in which "
                            "warpmer writes them, each k-mer once",
                            row.kmer));
      }
      before = place;
      worker.rows.push_back({place, begin, static_cast<std::uint32_t>(row.bytes), row.samples});
      begin += row.bytes + 1;
    }
    worker.reader.hold(worker.text.text.capacity() + worker.rows.capacity() * sizeof(OldRow));
  }

  /// Returns how many shards are through.
  std::uint32_t extend(RowWorker& worker, file::OrderedText& text, file::TextBuffer& buffer) const {
    std::optional<Place> before;
    if (!worker.text.row_before.empty())
      before = place_of(worker.text.row_before, worker.text.first_line - 1);
    parse(worker, before);
    auto old = worker.rows.begin();
    const auto row_of = [&](const OldRow& row) {
      return std::string_view(worker.text.text).substr(row.begin, row.bytes);
    };
    const auto write_old = [&](const OldRow& row, const Entry* begin, const Entry* end) {
      if (row.samples + static_cast<std::size_t>(end - begin) < plan_.min_samples) return;
      if (buffer.size() > file::OrderedText::kMostBytes) text.put_part(worker.text.ordinal, buffer);
      rows_.write_old(buffer, row_of(row), begin, end);
    };
    const auto merge_in = [&](const Place& place, const Entry* begin, const Entry* end) {
      for (; old != worker.rows.end() && old->place < place; ++old) write_old(*old, nullptr, nullptr);
      if (old != worker.rows.end() && old->place == place) {
        write_old(*old++, begin, end);
      } else if (static_cast<std::size_t>(end - begin) >= plan_.min_samples) {
        if (buffer.size() > file::OrderedText::kMostBytes) text.put_part(worker.text.ordinal, buffer);
        rows_.write_new(buffer, place.shard, begin, end);
      }
    };
    const std::uint32_t last_shard =
        worker.text.is_end ? (1u << shard_bits_) - 1 : worker.rows.back().place.shard;
    const std::optional<Place> last =
        worker.text.is_end ? std::nullopt : std::optional<Place>(worker.rows.back().place);
    for (std::uint32_t shard = before ? before->shard : 0; shard <= last_shard; ++shard)
      for_each_new(worker.reader, shard, before, last, merge_in);
    for (; old != worker.rows.end(); ++old) write_old(*old, nullptr, nullptr);
    return last_shard + (worker.text.is_end ? 1 : 0);
  }

  /// Calls `visit(place, begin, end)` for the k-mers of a shard behind `before`, up to `last`.
  template <class Visit>
  void for_each_new(SampleGroups<Key>& reader, std::uint32_t shard, const std::optional<Place>& before,
                    const std::optional<Place>& last, Visit&& visit) const {
    const std::uint64_t entries = entries_in(inputs_, shard);
    if (entries == 0) return;
    const std::uint32_t part_bits = part_bits_of(entries, wanted_, keys_.most_part_bits());
    const auto part_with = [&](const Place& place) {
      return part_bits == 0 ? 0 : static_cast<std::uint64_t>(place.key >> (keys_.bits() - part_bits));
    };
    const std::uint64_t first_part = before && before->shard == shard ? part_with(*before) : 0;
    const std::uint64_t last_part =
        last && last->shard == shard ? part_with(*last) : (std::uint64_t{1} << part_bits) - 1;
    reader.shard().open(shard, part_bits);
    for (std::uint64_t part = first_part; part <= last_part; ++part) {
      reader.for_each(part, [&](const Entry* begin, const Entry* end) {
        const Place place{shard, begin->hash};
        if ((!before || place > *before) && (!last || place <= *last)) visit(place, begin, end);
      });
    }
    reader.shard().close();
  }

  const backend::MatrixPlan plan_;
  const std::vector<index::IndexFile>& inputs_;
  formats::MatrixFile& old_;
  std::uint32_t k_;
  std::uint32_t shard_bits_;
  ShardKeys<Key> keys_;
  std::uint64_t wanted_;
  MemoryBudget budget_;
  const MatrixRowWriter<Key> rows_;
  std::deque<RowWorker> workers_;
};

}  // namespace

}  // namespace warpmer::cpu

namespace warpmer::backend {

std::unique_ptr<MatrixSession> make_cpu_matrix(const MatrixPlan& plan,
                                               const std::vector<index::IndexFile>& inputs,
                                               formats::MatrixFile* old) {
  return with_key_type(inputs.front().params().k, [&]<class Key>(Key) -> std::unique_ptr<MatrixSession> {
    if (old != nullptr) return std::make_unique<cpu::MatrixExtender<Key>>(plan, inputs, *old);
    return std::make_unique<cpu::MatrixMaker<Key>>(plan, inputs);
  });
}

}  // namespace warpmer::backend
