#include "io/text/line_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "file/byte_file.h"
#include "file/input_error.h"
#include "io/compress/content.h"
#include "io/compress/decompressed.h"

namespace warpmer::io {
namespace {

constexpr std::size_t kReadBytes = std::size_t{256} << 10;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; }

}  // namespace

std::string_view entry_of_line(std::string_view line) {
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
  return line.starts_with('#') ? std::string_view() : line;
}

std::string_view first_word(std::string_view entry) {
  return entry.substr(0, static_cast<std::size_t>(std::ranges::find_if(entry, is_blank) - entry.begin()));
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

LineReader::LineReader(const std::string& path, unsigned threads, LineLimit limit)
    : shown_(path == "-" ? std::string(file::kStandardInput) : path), limit_(limit) {
  auto file = std::make_unique<file::ByteFile>(path, shown_, cancelled_);
  file_bytes_ = file->file_bytes();
  const InputContent content =
      is_compressed(file->peek(kForeignBytes)) ? detect_content(*file) : InputContent::text;
  source_ = decompressed(std::move(file), content, threads, cancelled_);
}

LineReader::~LineReader() {
  cancelled_ = true;  // threads may be decompressing ahead
}

void LineReader::fail(std::string_view what) const { file::fail_at({.file = shown_, .line = line_}, what); }

void LineReader::refuse_long_line() {
  ++line_;
  if (!limit_.is_lack_of_memory) fail(limit_.refusal);
  throw ResourceError(fmt::format("{}, line {}: {}", shown_, line_, limit_.refusal));
}

bool LineReader::next_line(std::string_view& line) {
  begin();
  std::size_t searched = at_;
  for (;;) {
    const std::size_t end = rest_.find('\n', searched);
    if (end != std::string::npos || is_read_) {
      if (at_ == rest_.size()) return false;
      is_cut_off_ = end == std::string::npos;
      line = std::string_view(rest_).substr(at_, is_cut_off_ ? end : end - at_);
      if (line.size() > limit_.bytes) refuse_long_line();
      at_ += line.size() + (is_cut_off_ ? 0 : 1);
      ++line_;
      return true;
    }
    if (rest_.size() - at_ > limit_.bytes) refuse_long_line();
    rest_.erase(0, std::exchange(at_, 0));
    searched = rest_.size();
    read_more(rest_);
  }
}

bool LineReader::next_entry(std::string_view& entry) {
  for (std::string_view line; next_line(line);) {
    entry = entry_of_line(line);
    if (!entry.empty()) return true;
  }
  return false;
}

bool LineReader::next_text(LineText& lines, std::size_t least_bytes) {
  begin();
  std::string& text = lines.text;
  if (at_ == 0 && text.capacity() < rest_.size()) {
    text.swap(rest_);  // the first time; later it has room for much more than that
  } else {
    text.assign(rest_, at_);
  }
  rest_.clear();
  at_ = 0;
  std::size_t end = text.rfind('\n') + 1;  // 0 for none
  while (!is_read_ && (text.size() < least_bytes || end == 0)) {
    if (text.size() - end > limit_.bytes) refuse_long_line();
    const std::size_t before = text.size();
    read_more(text);
    const std::string_view added = std::string_view(text).substr(before);
    if (const std::size_t last = added.rfind('\n'); last != std::string_view::npos) end = before + last + 1;
  }
  if (is_read_ && end < text.size()) {
    is_cut_off_ = true;
    text += '\n';
    end = text.size();
  }
  rest_.assign(text, end);
  text.resize(end);
  lines.first_line = line_ + 1;
  line_ += static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
  lines.disk_bytes = source_->disk_bytes() - std::exchange(disk_bytes_, source_->disk_bytes());
  return !text.empty();
}

/// Skips what stands in front of the first line.
void LineReader::begin() {
  if (std::exchange(has_begun_, true)) return;
  while (rest_.size() < kByteOrderMark.size() && !is_read_) read_more(rest_);
  if (rest_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  if (rest_.starts_with("\xff\xfe") || rest_.starts_with("\xfe\xff")) {
    ++line_;
    fail("this is text in UTF-16; save it as UTF-8, or as plain text");
  }
}

void LineReader::read_more(std::string& text) {
  // Beside the text, because a text zeroes whatever it is made longer by: that touches 64 pages for a short
  // file.
  if (!buffer_) buffer_ = std::make_unique_for_overwrite<char[]>(kReadBytes);
  const std::size_t before = text.size(), got = source_->read(buffer_.get(), kReadBytes);
  text.append(buffer_.get(), got);
  is_read_ = got == 0;
  end_lines_alike(text, before);
}

/// Makes a line feed of each end of a line, from `begin` on.
void LineReader::end_lines_alike(std::string& text, std::size_t begin) {
  const char* in = text.data() + begin;
  const char* const end = text.data() + text.size();
  if (in == end) return;
  char* out = text.data() + begin;
  if (std::exchange(is_after_return_, end[-1] == '\r') && *in == '\n') ++in;
  const auto copy_until = [&](const char* until) {
    const auto bytes = static_cast<std::size_t>(until - in);
    if (in != out) std::memmove(out, in, bytes);
    in = until;
    out += bytes;
  };
  while (in < end) {
    const void* const found = std::memchr(in, '\r', static_cast<std::size_t>(end - in));
    copy_until(found == nullptr ? end : static_cast<const char*>(found));
    if (found == nullptr) break;
    *out++ = '\n';
    ++in;
    if (in < end && *in == '\n') ++in;
  }
  text.resize(static_cast<std::size_t>(out - text.data()));
}

}  // namespace warpmer::io
