#include "io/hts/cram_memory.h"

#include <fcntl.h>
#include <htslib/hfile.h>
#include <htslib/hts.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string_view>
#include <system_error>

#include "file/byte_file.h"
#include "io/hts/reference_index.h"
#include "io/hts/silence_htslib.h"
#include "system/descriptors.h"

namespace warpmer::io {
namespace {

/// Memory of the header as htslib keeps it, by the bytes of its text: lines of few and short tags take most
/// (13.7 bytes; of many tags 6.6).
constexpr std::uint64_t kBytesOfHeaderByte = 14;
/// Memory of a slice in all its stages: compressed, decompressed, and as records. `samtools view` took 13 to
/// 28 MB for slices of 1.5 and 5 M bases, 89 for 15 M, and for each of 2 and 4 threads 21 to 68 and 135 to
/// 171.
constexpr std::uint64_t kAloneBytesOfBase = 6;
/// Bytes for each base of a thread: each has a slice, and one or two more wait to be read.
constexpr std::uint64_t kThreadBytesOfBase = 10;

/// Headers that are read to see whether references will take memory; larger ones would take much themselves.
constexpr std::uint64_t kReadableHeader = std::uint64_t{4} << 20;

/// A file on disk, or an open descriptor of one, from where that is: what is looked at is not taken.
class Look {
 public:
  explicit Look(const std::string& path) : inherited_(file::descriptor_in_path(path)) {
    descriptor_ = inherited_ >= 0 ? inherited_ : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (inherited_ >= 0) at_ = ::lseek(inherited_, 0, SEEK_CUR);
  }
  ~Look() {
    if (inherited_ < 0 && descriptor_ >= 0) ::close(descriptor_);
  }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;

  /// Returns the bytes read: 0 at its end, and if it cannot be read.
  std::size_t next(char* into, std::size_t bytes) {
    const ssize_t count = descriptor_ >= 0 && at_ >= 0 ? ::pread(descriptor_, into, bytes, at_) : 0;
    if (count <= 0) return 0;
    at_ += count;
    return static_cast<std::size_t>(count);
  }

 private:
  const int inherited_;
  int descriptor_ = -1;
  off_t at_ = 0;
};

/// Opens the file a second time, at the place where it is; -1 if that cannot be.
int open_again(const std::string& path) {
  const int inherited = file::descriptor_in_path(path);
  if (inherited < 0) return ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const int again = system::open_again(inherited);
  if (again >= 0) ::lseek(again, ::lseek(inherited, 0, SEEK_CUR), SEEK_SET);
  return again;
}

/// Returns 0 for a header that cannot be read.
std::uint64_t longest_sequence_of_header(const std::string& path) {
  silence_htslib();
  const int descriptor = open_again(path);
  hFILE* const stream = descriptor >= 0 ? hdopen(descriptor, "r") : nullptr;
  if (stream == nullptr) {
    if (descriptor >= 0) ::close(descriptor);
    return 0;
  }
  const std::unique_ptr<htsFile, decltype(&hts_close)> file(hts_hopen(stream, path.c_str(), "r"), &hts_close);
  if (!file) {
    [[maybe_unused]] const int closed = hclose(stream);
    return 0;
  }
  const std::unique_ptr<sam_hdr_t, decltype(&sam_hdr_destroy)> header(sam_hdr_read(file.get()),
                                                                      &sam_hdr_destroy);
  return header ? longest_sequence(*header) : 0;
}

}  // namespace

std::uint64_t CramNeeds::bytes(unsigned threads) const {
  return kBytesOfHeaderByte * size.header_bytes +
         size.slice_bases * (threads > 1 ? threads * kThreadBytesOfBase : kAloneBytesOfBase) +
         2 * reference_bases;
}

std::optional<CramNeeds> look_at_cram(const InputFile& input, const std::string& reference) {
  constexpr std::uint64_t kContainers = 3;  // the header, and two
  constexpr std::size_t kStep = std::size_t{16} << 10;
  if (!input.is_regular) return std::nullopt;
  Look file(input.path);
  const std::unique_ptr<char[]> some(new char[kStep]);
  std::string_view bytes(some.get(), file.next(some.get(), kStep));
  if (!bytes.starts_with("CRAM")) return std::nullopt;
  CramWatch watch(input.shown);
  while (!bytes.empty() && watch.containers() < kContainers) {
    watch.see(bytes);
    bytes = {some.get(), file.next(some.get(), kStep)};
  }
  CramNeeds needs{watch.size(), 0};
  needs.size.slice_bases = std::max(needs.size.slice_bases, kUsualSliceBases);
  if (!reference.empty()) {
    index_reference(reference);  // which has lengths
    needs.reference_bases = longest_sequence(reference);
  } else if (needs.size.needs_reference && needs.size.header_bytes <= kReadableHeader) {
    needs.reference_bases = longest_sequence_of_header(input.path);
  }
  return needs;
}

CramSize look_at_cram(file::ByteFile& file) {
  constexpr std::uint64_t kContainers = 2;
  constexpr std::size_t kLeast = 4096, kMost = std::size_t{4} << 20;
  CramWatch watch(file.shown());
  // No more than the version at first: a pipe may stay open, and not have more.
  std::size_t seen = 0, wanted = CramWatch::kDefinitionBytes;
  for (; watch.containers() < kContainers && wanted <= kMost; wanted = std::max(2 * wanted, kLeast)) {
    const std::string_view bytes = file.peek(wanted);
    if (bytes.size() == seen) break;
    watch.see(bytes.substr(seen));
    seen = bytes.size();
  }
  CramSize size = watch.size();
  if (watch.containers() < kContainers) size.slice_bases = kUsualSliceBases;
  return size;
}

std::uint64_t longest_sequence(const sam_hdr_t& header) {
  std::uint64_t longest = 0;
  for (int i = 0; i < sam_hdr_nref(&header); ++i)
    longest = std::max(longest, static_cast<std::uint64_t>(sam_hdr_tid2len(&header, i)));
  return longest;
}

std::uint64_t longest_sequence(const std::string& reference) {
  std::ifstream index(reference + ".fai");
  std::uint64_t longest = 0, length = 0;
  while (index.ignore(std::numeric_limits<std::streamsize>::max(), '\t') && index >> length) {
    longest = std::max(longest, length);
    index.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  if (longest > 0) return longest;
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(reference, error);
  return error ? 0 : size;
}

}  // namespace warpmer::io
