#include "io/read_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ordered_stage.h"
#include "file/input_error.h"

namespace warpmer::io {
namespace {

InputOptions in_order(InputOptions options, Pairing pairing) {
  options.in_order = true;
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

ReadPairs::ReadPairs(const std::vector<std::string>& first, const std::vector<std::string>& second,
                     Pairing pairing, const InputOptions& options, bool any_names)
    : pairing_(pairing), any_names_(any_names), enough_bytes_(options.batch_bytes / 2) {
  const auto open = [&](const std::vector<std::string>& files) {
    return std::make_unique<InputSet>(files, in_order(options, pairing));
  };
  if (pairing == Pairing::single) {
    single_ = open(first);
    return;
  }
  const auto open_ordered = [&](const std::vector<std::string>& files) {
    return std::make_unique<OrderedBatches>(open(files), options.one_caller, kResultsAhead * options.threads);
  };
  first_ = open_ordered(first);
  if (pairing == Pairing::two_files) second_ = open_ordered(second);
}

/// Throws unless record `i` of one and record `j` of the other have names of mates, or any will do.
void ReadPairs::check_mates(const BatchPart& one, std::size_t i, const BatchPart& other,
                            std::size_t j) const {
  if (any_names_) return;
  const Batch& a = *one.batch;
  const Batch& b = *other.batch;
  const Piece& first = one.piece(i);
  const Piece& second = other.piece(j);
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
    const bool is_there = single_->next(group.first);
    group.ordinal = group.first.ordinal;
    return is_there;
  }
  group.first.clear();
  group.second.clear();
  GroupParts parts;
  if (!take_parts(parts, group.ordinal)) return false;
  for (const BatchPart& part : parts.first) part.append_to(group.first);
  for (const BatchPart& part : parts.second) part.append_to(group.second);
  return true;
}

std::uint64_t ReadPairs::alike_bytes() const {
  if (single_) return single_->alike_bytes();
  const std::uint64_t first = first_->alike_bytes();
  if (!second_) return first;
  const std::uint64_t second = second_->alike_bytes();
  return first == 0 || second == 0 ? 0 : first + second;
}

void ReadPairs::cancel() noexcept {
  is_cancelled_ = true;
  if (single_) single_->cancel();
  for (OrderedBatches* const input : {first_.get(), second_.get()}) {
    if (input != nullptr) input->cancel();
  }
}

/// Takes the parts of the next group, of which this thread reads some if need be.
bool ReadPairs::take_parts(GroupParts& parts, std::uint64_t& ordinal) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!is_over_ && !is_cancelled_) {
    bool is_there = false;
    try {
      is_there = complete_group();
    } catch (...) {
      is_over_ = true;  // no thread goes on from there
      changed_.notify_all();
      throw;
    }
    if (is_there) {
      parts = std::exchange(parts_, {});
      ordinal = next_ordinal_++;
      return true;
    }
    if (is_over_) break;
    if (OrderedBatches* const input = to_read()) {
      input->read(lock);
      changed_.notify_all();
    } else {
      changed_.wait_for(lock, file::kCancelCheck);
    }
  }
  return false;
}

/// Returns the input of which a batch is wanted most, and which may be read.
OrderedBatches* ReadPairs::to_read() const {
  OrderedBatches* best = nullptr;
  for (OrderedBatches* const input : {first_.get(), second_.get()}) {
    if (input == nullptr || !input->may_read()) continue;
    if (best == nullptr || input->ready() < best->ready()) best = input;
  }
  return best;
}

bool ReadPairs::complete_group() {
  return pairing_ == Pairing::two_files ? complete_of_two() : complete_interleaved();
}

void ReadPairs::add(const BatchPart& first) {
  parts_.text_bytes += first.text_bytes();
  parts_.reads += first.size();
  parts_.first.push_back(first);
}

/// Adds as many reads of each as both have, until that is enough; never of more than one file each. Returns
/// whether it is, or there are no more.
bool ReadPairs::complete_of_two() {
  while (parts_.reads == 0 || parts_.text_bytes < enough_bytes_) {
    const BatchState first = first_->state(), second = second_->state();
    if (first == BatchState::waiting || second == BatchState::waiting) return false;
    for (const OrderedBatches* const input : {first_.get(), second_.get()}) {
      if (input->state() == BatchState::over || !input->front().bam_header) continue;
      file::fail_at({input->front().file},
                    "alignments have both mates in one file; give it as the one input, with "
                    "--interleaved");
    }
    if (first == BatchState::over && second == BatchState::over) break;
    if (second == BatchState::over) fail_alone(*first_, last_file_[1]);
    if (first == BatchState::over) fail_alone(*second_, last_file_[0]);
    last_file_[0] = first_->front().file;
    last_file_[1] = second_->front().file;
    if (parts_.reads > 0 && (parts_.first.front().batch->file != last_file_[0] ||
                             parts_.second.front().batch->file != last_file_[1]))
      break;
    const std::size_t reads = std::min(first_->left(), second_->left());
    const BatchPart of_first = first_->take(reads), of_second = second_->take(reads);
    if (reads == 0) continue;
    for (std::size_t i = 0; i < reads; ++i) check_mates(of_first, i, of_second, i);
    add(of_first);
    parts_.second.push_back(of_second);
  }
  is_over_ = parts_.reads == 0;
  return !is_over_;
}

/// Adds what is left of a batch and, if that ends in the middle of a pair, the read that begins the next one.
/// Returns whether these are pairs.
bool ReadPairs::complete_interleaved() {
  if (parts_.first.empty()) {
    if (first_->state() == BatchState::over) is_over_ = true;
    if (first_->state() != BatchState::ready) return false;
    const BatchPart part = first_->take(first_->left());
    for (std::size_t i = 0; i + 1 < part.size(); i += 2) check_mates(part, i, part, i + 1);
    add(part);
  }
  if (parts_.reads % 2 == 0) return true;
  const BatchPart& begun = parts_.first.front();
  const BatchState state = first_->state();
  if (state == BatchState::waiting) return false;
  if (state == BatchState::over || first_->front().file != begun.batch->file) {
    const Piece& last = begun.piece(begun.size() - 1);
    file::fail_at({begun.batch->file, last.record, begun.batch->name(last)},
                  fmt::format("this last read has no mate; {}", advice(*begun.batch)));
  }
  const BatchPart mate = first_->take(1);
  check_mates(begun, begun.size() - 1, mate, 0);
  add(mate);
  return true;
}

void ReadPairs::fail_alone(const OrderedBatches& has, const std::string& other) const {
  const Piece& piece = has.next_piece();
  file::fail_at({has.front().file, piece.record, has.front().name(piece)},
                fmt::format("this read has no mate: {} has fewer reads; give files that belong together",
                            other.empty() ? "the other input" : other));
}

}  // namespace warpmer::io
