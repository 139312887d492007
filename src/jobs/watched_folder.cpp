#include "jobs/watched_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "system/file_time.h"

namespace warpmer::jobs {

namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 5> kText = {".fq", ".fastq", ".fa", ".fasta", ".fna"};
constexpr std::array<std::string_view, 3> kAlignments = {".bam", ".cram", ".sam"};
constexpr std::array<std::string_view, 5> kCompressed = {".gz", ".bgz", ".zst", ".bz2", ".xz"};

template <std::size_t N>
std::string_view ending_of(std::string_view name, const std::array<std::string_view, N>& endings) {
  const auto found = std::find_if(endings.begin(), endings.end(),
                                  [&](std::string_view ending) { return name.ends_with(ending); });
  return found == endings.end() ? std::string_view() : *found;
}

/// Plain text is read in parts, between which a job may be ended.
constexpr std::uint64_t kMostPart = std::uint64_t{256} << 20;
/// A file that is so old is finished when it is seen first, whatever the clock of the file system.
constexpr std::chrono::seconds kOld{60};

bool is_plain_text_name(std::string_view name) { return !ending_of(name, kText).empty(); }
bool is_alignment_name(std::string_view name) { return !ending_of(name, kAlignments).empty(); }

bool is_sequence_name(std::string_view name) {
  if (name.starts_with('.')) return false;
  if (is_alignment_name(name)) return true;
  name.remove_suffix(ending_of(name, kCompressed).size());
  return is_plain_text_name(name);
}

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000 + time.tv_nsec; }

FileId id_of(const struct stat& status) {
  return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino)};
}

bool is_skipped_folder(std::string_view name) {
  return name.starts_with('.') || name.ends_with("_fail") || name.ends_with("_skip");
}

/// A file that is read from some byte on.
class TextFrom {
 public:
  TextFrom(const std::string& path, std::uint64_t begin, std::uint64_t end)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)),
        at_(begin),
        end_(end),
        buffer_(std::min<std::uint64_t>(end - begin, std::uint64_t{1} << 20)) {}
  ~TextFrom() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  TextFrom(const TextFrom&) = delete;
  TextFrom& operator=(const TextFrom&) = delete;

  /// Returns the next bytes; nothing at the end, and where they cannot be read.
  std::string_view next() {
    const std::size_t wanted = std::min<std::uint64_t>(buffer_.size(), end_ - at_);
    const ssize_t got = descriptor_ < 0 || wanted == 0
                            ? 0
                            : ::pread(descriptor_, buffer_.data(), wanted, static_cast<off_t>(at_));
    if (got <= 0) return {};
    at_ += static_cast<std::uint64_t>(got);
    return {buffer_.data(), static_cast<std::size_t>(got)};
  }
  /// Place in the file of the end of what `next` has returned.
  [[nodiscard]] std::uint64_t at() const { return at_; }

 private:
  int descriptor_;
  std::uint64_t at_, end_;
  std::vector<char> buffer_;
};

/// Returns a hash of the last bytes before `end`; nothing when they cannot be read.
std::optional<std::size_t> tail_of(const std::string& path, std::uint64_t end) {
  constexpr std::uint64_t kMost = 4096;
  const std::uint64_t bytes = std::min(end, kMost);
  TextFrom file(path, end - bytes, end);
  const std::string_view tail = file.next();
  return tail.size() == bytes ? std::optional(std::hash<std::string_view>()(tail)) : std::nullopt;
}

/// Finds the ends of records, line by line.
class RecordEnds {
 public:
  explicit RecordEnds(std::uint64_t begin) : whole_(begin) {}

  /// False when this is no such text.
  bool add_line_start(char first, std::uint64_t place) {
    if (line_ == 0 && !is_begun_) {
      is_begun_ = true;
      is_fasta_ = first == '>';
      if (!is_fasta_ && first != '@') return false;
    }
    if (is_fasta_) {
      if (first == '>') whole_ = place;
      return true;
    }
    if (line_ == 0) whole_ = place;
    if ((line_ == 0 && first != '@') || (line_ == 2 && first != '+')) return false;
    line_ = (line_ + 1) % 4;
    return true;
  }
  void add_end(std::uint64_t place) {
    if (!is_fasta_ && line_ == 0) whole_ = place;
  }
  [[nodiscard]] std::uint64_t whole() const { return whole_; }

 private:
  std::uint64_t whole_;
  bool is_begun_ = false, is_fasta_ = false;
  int line_ = 0;  ///< that comes next, of a record of FASTQ
};

}  // namespace

std::uint64_t end_of_whole_records(const std::string& path, std::uint64_t begin, std::uint64_t end) {
  TextFrom file(path, begin, end);
  RecordEnds records(begin);
  bool at_line_start = true;
  for (std::string_view text; !(text = file.next()).empty();) {
    const std::uint64_t place = file.at() - text.size();
    for (std::size_t i = 0; i < text.size();) {
      if (at_line_start && !records.add_line_start(text[i], place + i)) return records.whole();
      const std::size_t line_end = text.find('\n', i);
      at_line_start = line_end != std::string_view::npos;
      i = at_line_start ? line_end + 1 : text.size();
    }
  }
  if (at_line_start) records.add_end(file.at());
  return records.whole();
}

WatchedFolder::WatchedFolder(std::string folder, std::map<std::string, std::uint64_t> read,
                             std::chrono::duration<double> settle)
    : folder_(std::move(folder)), read_(std::move(read)), settle_(settle) {
  while (folder_.size() > 1 && folder_.ends_with('/')) folder_.pop_back();
}

/// True when the bytes that were read last of a file are others now: not where `rsync` has made a new file of
/// one that has grown, but also where a new one has the inode of the one before.
bool WatchedFolder::is_replaced(const std::string& name, const SeenFile& file) const {
  const auto before = tails_.find(name);
  if (before == tails_.end() || file.bytes < read_of(name)) return false;
  const std::optional<std::size_t> tail = tail_of(path_of(name), read_of(name));
  return tail && before->second && *tail != *before->second;
}

void WatchedFolder::see(const std::string& name, const FolderLook& look) {
  struct stat status = {};
  if (::stat(path_of(name).c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  const FileId id = id_of(status);
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  const std::int64_t changed = nanoseconds(system::changed_at(status));
  check_repeated(name, id, look);
  const auto [place, is_new] = seen_.try_emplace(name);
  SeenFile& file = place->second;
  file.look = looks_;
  const bool has_other_id = file.id != id;
  file.id = id;
  if (is_new || file.bytes != bytes || file.changed != changed) {
    file.bytes = bytes;
    file.changed = changed;
    file.since = look.now;
    file.damaged_bytes = UINT64_MAX;
    if (is_new && looks_ == 1) file.first_bytes = bytes;
    const auto age = std::chrono::system_clock::now().time_since_epoch() - std::chrono::nanoseconds(changed);
    if (is_new && age > kOld) file.since -= std::chrono::ceil<Clock::duration>(settle_);
  } else if (!has_other_id) {
    return;
  }
  check_replaced(name, file, look);
}

void WatchedFolder::check_repeated(const std::string& name, const FileId& id, const FolderLook& look) {
  const auto [first, is_first] = first_names_.try_emplace(id, name);
  if (is_first || !repeated_.insert(id).second) return;
  look.problem(fmt::format("'{}' and '{}' are the same file; a file is counted as often as it has names",
                           path_of(first->second), path_of(name)));
}

void WatchedFolder::check_replaced(const std::string& name, SeenFile& file, const FolderLook& look) {
  if (!is_replaced(name, file)) {
    replaced_.erase(name);
    return;
  }
  file.damaged_bytes = file.bytes;
  if (!replaced_.insert(name).second) return;
  look.problem(
      fmt::format("{} has been replaced by another file, and {} bytes were counted of the one before: what "
                  "was counted stays, the other is left out",
                  path_of(name), read_of(name)));
}

FilePart WatchedFolder::part_of(const std::string& name, const SeenFile& file, Clock::time_point now) const {
  FilePart part{name, read_of(name), file.bytes};
  if (file.bytes <= part.begin || file.bytes == file.damaged_bytes) return {};
  const bool is_finished = now - file.since >= settle_;
  if (is_plain_text_name(name) && (!is_finished || part.end - part.begin > kMostPart)) {
    const std::uint64_t whole =
        end_of_whole_records(path_of(name), part.begin, std::min(part.end, part.begin + kMostPart));
    if (whole > part.begin) {
      part.end = whole;
      return part;
    }
  }
  return is_finished ? part : FilePart();
}

std::uint64_t WatchedFolder::read_of(const std::string& name) const {
  const auto before = read_.find(name);
  return before == read_.end() ? 0 : before->second;
}

/// Sees the files of one folder within, or of the watched one, whose name is empty, and appends the folders
/// that are in it.
std::error_code WatchedFolder::list_folder(const std::string& name, const FolderLook& look,
                                           std::vector<std::string>& folders) {
  std::error_code error;
  for (fs::directory_iterator entry(path_of(name), error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string own = entry->path().filename().string();
    std::string within = name;
    if (!within.empty()) within += '/';
    within += own;
    std::error_code ignored;
    if (entry->is_directory(ignored)) {
      if (is_skipped_folder(own)) continue;
      if (!entry->is_symlink(ignored)) {
        folders.push_back(std::move(within));
      } else if (links_.insert(within).second) {  // and might lead back
        look.problem(fmt::format(
            "{} is a link to a folder, and files in that are not counted; watch the folder itself",
            path_of(within)));
      }
    } else if (is_sequence_name(own)) {
      see(within, look);
    }
  }
  return error;
}

/// Sees what files there are. Of folders within, one that vanishes meanwhile is not there, and another that
/// cannot be listed is a problem that is told once.
void WatchedFolder::list(const FolderLook& look) {
  ++looks_;
  first_names_.clear();
  std::set<std::string> unlisted;
  std::vector<std::string> folders = {""};
  while (!folders.empty()) {
    const std::string name = std::move(folders.back());
    folders.pop_back();
    const std::error_code error = list_folder(name, look, folders);
    if (!error || (!name.empty() && error == std::errc::no_such_file_or_directory)) continue;
    const std::string what = fmt::format("{} cannot be listed: {}", path_of(name), error.message());
    if (name.empty()) throw InputError(what);
    if (!unlisted_.contains(name)) look.problem(what + "; files in it are left out until it can be");
    unlisted.insert(name);
  }
  unlisted_ = std::move(unlisted);
  const auto is_unlisted = [&](const std::string& name) {
    return std::ranges::any_of(unlisted_,
                               [&](const std::string& folder) { return name.starts_with(folder + "/"); });
  };
  std::erase_if(seen_,
                [&](const auto& named) { return named.second.look != looks_ && !is_unlisted(named.first); });
}

std::vector<FilePart> WatchedFolder::look(Clock::time_point now,
                                          const std::function<void(std::string)>& problem) {
  list({now, problem});
  std::vector<FilePart> parts;
  for (auto& [name, file] : seen_) {
    const std::uint64_t before = read_of(name);
    const bool cannot_go_on =
        file.bytes < before || (is_alignment_name(name) && before > 0 && file.bytes > before);
    if (cannot_go_on && file.damaged_bytes != file.bytes) {
      file.damaged_bytes = file.bytes;
      problem(fmt::format(
          "{} has changed to {} bytes, and {} were counted before: what was counted stays, what is "
          "new is left out",
          path_of(name), file.bytes, before));
    }
    if (FilePart part = part_of(name, file, now); part.end > 0) parts.push_back(std::move(part));
  }
  return parts;
}

void WatchedFolder::note_read(const FilePart& part) {
  read_[part.name] = part.end;
  tails_[part.name] = tail_of(path_of(part.name), part.end);
}

void WatchedFolder::note_damaged(const FilePart& part) {
  SeenFile& file = seen_[part.name];
  file.damaged_bytes = file.bytes;
  file.first_bytes = 0;
}

std::vector<std::string> WatchedFolder::unread() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : seen_) {
    const bool can_be_read = file.bytes != file.damaged_bytes;
    if (can_be_read && read_of(name) < std::min(file.first_bytes, file.bytes)) names.push_back(name);
  }
  return names;
}

bool WatchedFolder::has_lost(const FilePart& part) const {
  struct stat status = {};
  if (::stat(path_of(part.name).c_str(), &status) != 0) return errno == ENOENT;
  return static_cast<std::uint64_t>(status.st_size) < part.end;
}

std::size_t WatchedFolder::damaged() const {
  const auto files = std::count_if(seen_.begin(), seen_.end(), [](const auto& named) {
    return named.second.damaged_bytes == named.second.bytes;
  });
  return static_cast<std::size_t>(files) + unlisted_.size();
}

io::InputFile WatchedFolder::input(const FilePart& part) const {
  io::InputFile file;
  file.path = file.shown = path_of(part.name);
  file.is_regular = true;
  file.disk_bytes = part.end - part.begin;
  if (!is_alignment_name(part.name)) {
    file.begin = part.begin;
    file.end = part.end;
  }
  return file;
}

}  // namespace warpmer::jobs
