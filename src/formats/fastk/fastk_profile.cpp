#include "formats/fastk/fastk_profile.h"

#include <algorithm>

#include "file/output/output_path.h"
#include "formats/fastk/fastk_table.h"

namespace warpmer::formats {
namespace {

constexpr std::string_view kProfileEnding = ".prof";
constexpr std::uint64_t kCountAt = 12;  ///< place of the number of sequences in an index
constexpr unsigned kLongestRun = 63;

std::string root_of(const std::string& path) {
  return path.ends_with(kProfileEnding) ? path.substr(0, path.size() - kProfileEnding.size()) : path;
}

void append_two(std::string& text, unsigned bits) {
  text += static_cast<char>(0x80 | (bits >> 8 & 0x7F));
  text += static_cast<char>(bits);
}

void append_first(std::string& text, int count) {
  constexpr int kOneByte = 127;
  if (count <= kOneByte) {
    text += static_cast<char>(count);
  } else {
    append_two(text, static_cast<unsigned>(count));
  }
}

void end_run(std::string& text, unsigned& run) {
  if (run > 0) text += static_cast<char>(run);
  run = 0;
}

/// Appends the difference to the next count, or adds it to a run of those that are 0.
void append_step(std::string& text, int difference, unsigned& run) {
  constexpr int kLargestStep = 31;
  constexpr unsigned kStep = 0x40, kStepMask = 0x3F;
  if (difference == 0) {
    if (++run == kLongestRun) end_run(text, run);
    return;
  }
  end_run(text, run);
  if (difference >= -kLargestStep && difference <= kLargestStep) {
    text += static_cast<char>(kStep | (static_cast<unsigned>(difference) & kStepMask));
  } else {
    append_two(text, static_cast<unsigned>(difference));
  }
}

std::uint16_t capped(std::uint64_t count) {
  return static_cast<std::uint16_t>(std::min(count, kLargestFastkCount));
}

}  // namespace

void FastkProfiles::add(std::span<const std::uint64_t> counts, bool begins, bool ends) {
  ProfilePiece piece{.begins = begins, .ends = ends};
  if (!counts.empty()) {
    piece.first = capped(counts.front());
    const auto is_other = [&](std::uint64_t count) { return capped(count) != piece.first; };
    const auto other = std::ranges::find_if(counts, is_other);
    piece.alike = static_cast<std::uint64_t>(other - counts.begin());
    int last = piece.first;
    unsigned run = 0;
    for (const std::uint64_t each : counts.subspan(piece.alike)) {
      const int count = capped(each);
      append_step(bytes, count - last, run);
      last = count;
    }
    piece.last = static_cast<std::uint16_t>(last);
    piece.run = static_cast<std::uint8_t>(run);
  }
  piece.end = bytes.size();
  pieces.push_back(piece);
}

FastkProfileSink::ProfilePart::ProfilePart(const std::string& path, std::uint32_t number)
    : index(fastk_part(path + ".pidx", number)), profiles(fastk_part(path + ".prof", number)) {}

FastkProfileSink::FastkProfileSink(const std::string& path, std::uint32_t k, std::uint32_t parts,
                                   std::uint64_t sequences)
    : k_(k),
      sequences_(sequences),
      target_(root_of(file::resolve(root_of(path) + std::string(kProfileEnding)))),
      stub_(root_of(path) + std::string(kProfileEnding)) {
  stub_.put(k);
  stub_.put(parts);
  for (std::uint32_t i = 1; i <= parts; ++i) parts_.push_back(std::make_unique<ProfilePart>(target_, i));
  begin_part();
}

void FastkProfileSink::begin_part() {
  parts_[part_]->index.put(k_);
  parts_[part_]->index.put(written_);
  parts_[part_]->index.put(std::uint64_t{0});
  part_begin_ = written_;
}

void FastkProfileSink::end_part() {
  const std::uint64_t sequences = written_ - part_begin_;
  parts_[part_]->index.rewrite(kCountAt, {reinterpret_cast<const char*>(&sequences), sizeof sequences});
}

void FastkProfileSink::write(const FastkProfiles& profiles) {
  std::size_t begin = 0;
  for (const FastkProfiles::ProfilePiece& piece : profiles.pieces) {
    if (piece.begins) begin_sequence();
    if (piece.alike > 0) join(piece, std::string_view(profiles.bytes).substr(begin, piece.end - begin));
    if (piece.ends) end_sequence();
    begin = piece.end;
  }
}

void FastkProfileSink::begin_sequence() {
  const std::uint64_t share = (sequences_ + parts_.size() - 1) / parts_.size();
  if (share > 0 && written_ == share * (part_ + 1) && part_ + 1 < parts_.size()) {
    end_part();
    ++part_;
    begin_part();
  }
  has_counts_ = false;
  run_ = 0;
}

/// Writes the counts of a piece behind those of the pieces before. The bytes do not depend on where a
/// sequence is cut.
void FastkProfileSink::join(const FastkProfiles::ProfilePiece& piece, std::string_view bytes) {
  std::string text;
  if (has_counts_) {
    append_step(text, piece.first - last_, run_);
  } else {
    append_first(text, piece.first);
  }
  const std::uint64_t run = run_ + piece.alike - 1;
  text.append(run / kLongestRun, static_cast<char>(kLongestRun));
  run_ = static_cast<unsigned>(run % kLongestRun);
  if (!bytes.empty()) {
    end_run(text, run_);
    run_ = piece.run;
  }
  last_ = piece.last;
  has_counts_ = true;
  parts_[part_]->profiles.write(text);
  parts_[part_]->profiles.write(bytes);
}

void FastkProfileSink::end_sequence() {
  std::string text;
  end_run(text, run_);
  parts_[part_]->profiles.write(text);
  parts_[part_]->index.put(parts_[part_]->profiles.bytes_written());
  ++written_;
}

void FastkProfileSink::finish() {
  end_part();
  while (++part_ < parts_.size()) begin_part();  // empty ones
  std::vector<file::BufferedOutput*> files;
  for (const auto& part : parts_) files.insert(files.end(), {&part->index, &part->profiles});
  files.push_back(&stub_);
  file::finish_together(files);
  for (const std::string_view ending : {".pidx", ".prof"})
    remove_fastk_parts(target_ + std::string(ending), parts_.size());
}

}  // namespace warpmer::formats
