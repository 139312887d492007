// warpmer::Index: an open index file, and lookups in it on the CPU.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <exception>

#include "backend/indexes/entries.h"
#include "backend/lookup/lookup.h"
#include "base/thread_team.h"
#include "file/input_error.h"
#include "host/limits.h"
#include "io/text/batch.h"
#include "kmer/alphabet.h"
#include "kmer/kmer.h"
#include "library/argument_checks.h"
#include "library/as_error.h"
#include "library/index_impl.h"
#include "library/totals.h"
#include "warpmer/warpmer.h"

namespace warpmer {

static_assert(kLargestK == kMaxK);
static_assert(Index::kNoKmer == backend::Profile::kNoKmer);

namespace {

/// A long sequence is looked up part by part: k-mers that start in so many positions at a time.
constexpr std::size_t kPartPositions = std::size_t{1} << 20;

/// The lookup takes everything that is no base for a break. A caller should learn of a mistake.
void require_nucleotides(std::string_view sequence) {
  const auto is_wrong = [](char c) { return char_class(c) == CharClass::invalid; };
  const auto* const wrong = std::find_if(sequence.begin(), sequence.end(), is_wrong);
  if (wrong == sequence.end()) return;
  throw UsageError(fmt::format("position {} of the sequence is {}, which is no nucleotide code",
                               wrong - sequence.begin() + 1, file::quoted(*wrong)));
}

std::vector<std::uint64_t> look_up(const backend::Lookup& lookup, std::string_view sequence,
                                   std::uint32_t k) {
  std::vector<std::uint64_t> counts, of_part;
  if (sequence.size() < k) return counts;
  counts.reserve(sequence.size() - k + 1);
  io::Batch batch;
  backend::Profile profile;
  while (sequence.size() >= k) {
    const std::string_view part = sequence.substr(0, kPartPositions + k - 1);
    batch.clear();
    batch.text.append(part);
    batch.pieces.push_back({.record = 1, .length = static_cast<std::uint32_t>(part.size())});
    lookup.profile(batch, profile);
    profile.exact(0, of_part);
    counts.insert(counts.end(), of_part.begin(), of_part.end());
    sequence.remove_prefix(part.size() - (k - 1));
  }
  return counts;
}

/// K-mers that a thread looks up at a time.
constexpr std::size_t kLookedUpAtOnce = std::size_t{1} << 12;

/// Calls `look_up(begin, end)` for parts of `size` k-mers, on so many threads.
template <class LookUp>
void in_parts(std::size_t size, unsigned threads, const LookUp& look_up) {
  const std::size_t parts = (size + kLookedUpAtOnce - 1) / kLookedUpAtOnce;
  const auto team = static_cast<unsigned>(std::min<std::size_t>(host::threads_or_all(threads), parts));
  share_numbers(std::max(1u, team), 0, parts, [&](unsigned /*thread*/, SharedNumbers& numbers) {
    for (std::size_t part; numbers.take(part);)
      look_up(part * kLookedUpAtOnce, std::min((part + 1) * kLookedUpAtOnce, size));
  });
}

template <class Key>
void visit_block(std::span<const formats::CountedKmer> block, std::uint32_t k, const Index::Visitor& visit) {
  char text[kKmerRoom + 3];
  for (const formats::CountedKmer& entry : block) {
    write_kmer(static_cast<Key>(entry.kmer), k, text);
    visit({text, k}, entry.count);
  }
}

}  // namespace

Index::Index(const std::string& path)
    : impl_(library::with_errors([&] { return std::make_unique<Impl>(path); })) {}
Index::~Index() = default;
Index::Index(Index&&) noexcept = default;
Index& Index::operator=(Index&&) noexcept = default;

const std::string& Index::path() const noexcept { return impl_->file.path(); }
std::uint32_t Index::k() const noexcept { return impl_->file.params().k; }
bool Index::is_canonical() const noexcept { return impl_->file.params().canonical; }
Totals Index::totals() const { return library::public_totals(impl_->file.totals()); }
std::uint64_t Index::content_checksum() const noexcept { return impl_->file.content_checksum(); }

std::vector<HistogramRow> Index::histogram() const {
  return library::with_errors([&] {
    std::vector<HistogramRow> rows;
    for (const auto& [count, kmers] : impl_->file.histogram()) rows.push_back({count, kmers});
    return rows;
  });
}

std::uint64_t Index::count_of(std::string_view kmer) const {
  return library::with_errors([&] { return impl_->lookup->find(kmer); });
}

std::vector<std::uint64_t> Index::counts_of(std::span<const std::string> kmers, unsigned threads) const {
  return counts_of(
      library::with_errors([&] { return std::vector<std::string_view>(kmers.begin(), kmers.end()); }),
      threads);
}

std::vector<std::uint64_t> Index::counts_of(std::span<const std::string_view> kmers, unsigned threads) const {
  return library::with_errors([&] {
    std::vector<std::uint64_t> counts(kmers.size());
    in_parts(kmers.size(), threads, [&](std::size_t begin, std::size_t end) {
      impl_->lookup->find_all(kmers.subspan(begin, end - begin), counts.data() + begin);
    });
    return counts;
  });
}

std::vector<std::uint64_t> Index::counts_of_packed(std::span<const std::uint64_t> kmers,
                                                   unsigned threads) const {
  return library::with_errors([&] {
    const std::size_t words = words_per_kmer(k());
    library::check_packed(kmers.size(), k());
    std::vector<std::uint64_t> counts(kmers.size() / words);
    in_parts(counts.size(), threads, [&](std::size_t begin, std::size_t end) {
      backend::find_packed(impl_->file, kmers.subspan(begin * words, (end - begin) * words),
                           counts.data() + begin);
    });
    return counts;
  });
}

std::vector<std::uint64_t> Index::counts_in(std::string_view sequence) const {
  return library::with_errors([&] {
    require_nucleotides(sequence);
    return look_up(*impl_->lookup, sequence, k());
  });
}

void Index::for_each(const Visitor& visit) const {
  if (!visit) throw UsageError("there is no function to call for each k-mer");
  std::exception_ptr of_caller;  // which is not ours to translate
  try {
    with_key_type(k(), [&]<class Key>(Key) {
      backend::for_each_block(impl_->file, 1, [&](std::span<const formats::CountedKmer> block) {
        try {
          visit_block<Key>(block, k(), visit);
        } catch (...) {
          of_caller = std::current_exception();
          throw;
        }
      });
    });
  } catch (...) {
    if (of_caller) std::rethrow_exception(of_caller);
    library::rethrow_as_error(std::current_exception());
  }
}

}  // namespace warpmer
