#include "io/read_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "file/input_error.h"

namespace warpmer::io {
namespace {

InputOptions in_order(InputOptions options, Pairing pairing) {
  options.in_order = true;
  options.one_caller = options.one_caller || pairing != Pairing::single;
  options.whole_records = true;
  if (pairing == Pairing::two_files) options.threads = (options.threads + 1) / 2;
  return options;
}

/// Says what an input lacks whose reads are not in pairs.
const char* advice(const Batch& batch) {
  return batch.bam_header ? "bring mates together first (`samtools collate`), and leave out reads without one"
                          : "the file is not interleaved, or reads are missing in it";
}

}  // namespace

bool are_mate_names(std::string_view first, std::string_view second) {
  if (first == second) return true;
  if (first.size() != second.size() || first.size() < 2) return false;
  const std::size_t stem = first.size() - 1;
  return first[stem] == '1' && second[stem] == '2' && first.substr(0, stem) == second.substr(0, stem) &&
         std::string_view("/._:").find(first[stem - 1]) != std::string_view::npos;
}

bool ReadPairs::PairedInput::refill() {
  if (ready() > 0) return true;
  taken = 0;
  if (inputs->next(batch)) return true;
  batch.clear();
  return false;
}

void ReadPairs::PairedInput::take(std::size_t count, Batch& to) {
  if (taken == 0 && count == batch.pieces.size() && to.pieces.empty()) {
    std::swap(batch, to);
    batch.clear();
    return;
  }
  append_records(batch, taken, taken + count, to);
  taken += count;
}

ReadPairs::ReadPairs(const std::vector<std::string>& first, const std::vector<std::string>& second,
                     Pairing pairing, const InputOptions& options, bool any_names)
    : pairing_(pairing), any_names_(any_names), enough_bytes_(options.batch_bytes / 2) {
  first_.inputs = std::make_unique<InputSet>(first, in_order(options, pairing));
  if (pairing == Pairing::two_files) {
    second_.inputs = std::make_unique<InputSet>(second, in_order(options, pairing));
  }
}

/// Throws unless record `i` of `a` and record `j` of `b` have names of mates, or any will do.
void ReadPairs::check_mates(const Batch& a, std::size_t i, const Batch& b, std::size_t j) const {
  if (any_names_) return;
  const Piece& first = a.pieces[i];
  const Piece& second = b.pieces[j];
  if (are_mate_names(a.name(first), b.name(second))) return;
  const std::string found = file::quoted(b.name(second), 80);
  const file::InputPlace place{a.file, first.record, a.name(first)};
  if (a.file != b.file) {
    file::fail_at(
        place,
        fmt::format(
            "its mate should be record {} of {}, but that is {}; the files do not belong together, "
            "or reads are missing in one of them; if only names differ, --by-order takes reads as they come",
            second.record, b.file, found));
  }
  file::fail_at(
      place, fmt::format("its mate should follow, but record {} is {}; {}", second.record, found, advice(a)));
}

bool ReadPairs::next(ReadGroup& group) {
  if (pairing_ == Pairing::single) {
    const bool is_there = first_.inputs->next(group.first);
    group.ordinal = group.first.ordinal;
    return is_there;
  }
  const std::lock_guard lock(mutex_);
  group.first.clear();
  group.second.clear();
  if (is_over_) return false;
  is_over_ = true;  // for good when reading fails: no thread goes on from there
  is_over_ = pairing_ == Pairing::two_files ? !next_of_two(group) : !next_interleaved(group);
  if (!is_over_) group.ordinal = next_ordinal_++;
  return !is_over_;
}

std::uint64_t ReadPairs::alike_bytes() const {
  const std::uint64_t first = first_.inputs->alike_bytes();
  if (!second_.inputs) return first;
  const std::uint64_t second = second_.inputs->alike_bytes();
  return first == 0 || second == 0 ? 0 : first + second;
}

void ReadPairs::cancel() noexcept {
  first_.inputs->cancel();
  if (second_.inputs) second_.inputs->cancel();
}

/// Takes as many reads of each as both have ready, until that is enough; never of more than one file each.
bool ReadPairs::next_of_two(ReadGroup& group) {
  while (group.first.pieces.empty() || group.first.text.size() < enough_bytes_) {
    const bool has_first = first_.refill();
    const bool has_second = second_.refill();
    for (const PairedInput* stream : {&first_, &second_}) {
      if (!stream->batch.bam_header) continue;
      file::fail_at({stream->batch.file},
                    "alignments have both mates in one file; give it as the one input, with "
                    "--interleaved");
    }
    if (!has_first && !has_second) break;
    if (!has_second) fail_alone(first_, second_);
    if (!has_first) fail_alone(second_, first_);
    last_file_[0] = first_.batch.file;
    last_file_[1] = second_.batch.file;
    const bool is_begun = !group.first.pieces.empty();
    if (is_begun && (group.first.file != first_.batch.file || group.second.file != second_.batch.file)) break;
    const std::size_t count = std::min(first_.ready(), second_.ready());
    for (std::size_t i = 0; i < count; ++i) {
      check_mates(first_.batch, first_.taken + i, second_.batch, second_.taken + i);
    }
    first_.take(count, group.first);
    second_.take(count, group.second);
  }
  return !group.first.pieces.empty();
}

/// Takes a batch and, if that ends in the middle of a pair, the read that begins the next one.
bool ReadPairs::next_interleaved(ReadGroup& group) {
  Batch& reads = group.first;
  if (!first_.refill()) return false;
  first_.take(first_.ready(), reads);
  for (std::size_t i = 0; i + 1 < reads.pieces.size(); i += 2) check_mates(reads, i, reads, i + 1);
  if (reads.pieces.size() % 2 != 0) {
    if (!first_.refill() || first_.batch.file != reads.file) {
      const Piece& last = reads.pieces.back();
      file::fail_at({reads.file, last.record, reads.name(last)},
                    fmt::format("this last read has no mate; {}", advice(reads)));
    }
    first_.take(1, reads);
    check_mates(reads, reads.pieces.size() - 2, reads, reads.pieces.size() - 1);
  }
  return true;
}

void ReadPairs::fail_alone(const PairedInput& has, const PairedInput& ended) const {
  const Piece& piece = has.next_piece();
  const std::string& other = last_file_[&ended == &first_ ? 0 : 1];
  file::fail_at({has.batch.file, piece.record, has.batch.name(piece)},
                fmt::format("this read has no mate: {} has fewer reads; give files that belong together",
                            other.empty() ? "the other input" : other));
}

}  // namespace warpmer::io
