#include "formats/fastk/fastk_profile.h"

#include <algorithm>
#include <cstring>

#include "file/output/output_group.h"
#include "file/output/output_path.h"
#include "formats/fastk/fastk_table.h"

namespace warpmer::formats {
namespace {

constexpr std::string_view kProfileEnding = ".prof";
constexpr std::uint64_t kCountAt = 12;  ///< place of the number of sequences in an index

std::string root_of(const std::string& path) {
  return path.ends_with(kProfileEnding) ? path.substr(0, path.size() - kProfileEnding.size()) : path;
}

void append_two(std::string& text, unsigned bits) {
  text += static_cast<char>(0x80 | (bits >> 8 & 0x7F));
  text += static_cast<char>(bits);
}

}  // namespace

void FastkProfiles::add(std::span<const std::uint64_t> counts) {
  constexpr int kOneByte = 127, kLargestStep = 31, kLongestRun = 63;
  constexpr unsigned kStep = 0x40, kStepMask = 0x3F;
  std::string& text = bytes;
  if (counts.empty()) {
    ends.push_back(text.size());
    return;
  }
  const auto capped = [](std::uint64_t count) {
    return static_cast<int>(std::min(count, kLargestFastkCount));
  };
  int last = capped(counts.front());
  if (last <= kOneByte) {
    text += static_cast<char>(last);
  } else {
    append_two(text, static_cast<unsigned>(last));
  }
  int run = 0;
  const auto end_run = [&] {
    if (run > 0) text += static_cast<char>(run);
    run = 0;
  };
  for (const std::uint64_t each : counts.subspan(1)) {
    const int difference = capped(each) - last;
    last += difference;
    if (difference == 0) {
      if (++run == kLongestRun) end_run();
      continue;
    }
    end_run();
    if (difference >= -kLargestStep && difference <= kLargestStep) {
      text += static_cast<char>(kStep | (static_cast<unsigned>(difference) & kStepMask));
    } else {
      append_two(text, static_cast<unsigned>(difference));
    }
  }
  end_run();
  ends.push_back(text.size());
}

FastkProfileSink::ProfilePart::ProfilePart(const std::string& path, std::uint32_t number)
    : index(fastk_part(path + ".pidx", number)), profiles(fastk_part(path + ".prof", number)) {}

FastkProfileSink::FastkProfileSink(const std::string& path, std::uint32_t k, std::uint32_t parts,
                                   std::uint64_t sequences)
    : k_(k), sequences_(sequences), stub_(root_of(path) + std::string(kProfileEnding)) {
  const std::string target = root_of(file::resolve(root_of(path) + std::string(kProfileEnding)));
  stub_.put(k);
  stub_.put(parts);
  for (std::uint32_t i = 1; i <= parts; ++i) parts_.push_back(std::make_unique<ProfilePart>(target, i));
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
  const std::uint64_t share = (sequences_ + parts_.size() - 1) / parts_.size();
  std::size_t begin = 0;
  for (const std::size_t end : profiles.ends) {
    if (share > 0 && written_ == share * (part_ + 1) && part_ + 1 < parts_.size()) {
      end_part();
      ++part_;
      begin_part();
    }
    parts_[part_]->profiles.write(std::string_view(profiles.bytes).substr(begin, end - begin));
    parts_[part_]->index.put(parts_[part_]->profiles.bytes_written());
    ++written_;
    begin = end;
  }
}

void FastkProfileSink::finish() {
  end_part();
  while (++part_ < parts_.size()) begin_part();  // empty ones
  for (const auto& part : parts_) {
    part->index.complete();
    part->profiles.complete();
  }
  stub_.complete();
  file::OutputGroup all;
  for (const auto& part : parts_) {
    part->index.finish();
    part->profiles.finish();
  }
  stub_.finish();
  all.name_all();
}

}  // namespace warpmer::formats
