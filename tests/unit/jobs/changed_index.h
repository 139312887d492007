#pragma once
/// An index file of which anything can be changed, with checksums that are right again: what a program could
/// have written on purpose.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "file/checksum.h"
#include "groups/group_shape.h"
#include "groups/shard_bits.h"
#include "groups/shard_check.h"
#include "groups/shard_layout.h"
#include "index/index_layout.h"
#include "unit/groups/shard_changes.h"

namespace warpmer::tests {

/// Makes all checksums of a file right, as far as its parts can be told: its directory says where payloads
/// are, its trailer where everything else is. Written from docs/index-format.md.
class ChecksumMender {
 public:
  explicit ChecksumMender(std::string& file) : file_(file) {}

  void mend() {
    using index::layout::kHeaderBytes, index::layout::kTrailerBytes;
    if (file_.size() < kHeaderBytes + kTrailerBytes) return;
    put(56, sum(0, 56));
    const std::uint64_t trailer = file_.size() - kTrailerBytes;
    mend_payloads(get(trailer), get(trailer + 8));
    std::string sums = file_.substr(56, 8);
    for (std::uint64_t i = 0; i < 4; ++i) {
      const std::uint64_t at = trailer + 24 * i, begin = get(at), bytes = get(at + 8);
      if (is_inside(begin, bytes)) put(at + 16, sum(begin, bytes));
      if (i < 3) sums += file_.substr(at + 16, 8);
    }
    put(trailer + 96, file::checksum(sums.data(), sums.size()));
    put(trailer + 120, sum(trailer, 120));
  }

 private:
  [[nodiscard]] bool is_inside(std::uint64_t begin, std::uint64_t bytes) const {
    return begin <= file_.size() && bytes <= file_.size() - begin;
  }
  [[nodiscard]] std::uint64_t get(std::uint64_t at) const {
    std::uint64_t value = 0;
    std::memcpy(&value, file_.data() + at, sizeof value);
    return value;
  }
  void put(std::uint64_t at, std::uint64_t value) { std::memcpy(file_.data() + at, &value, sizeof value); }
  [[nodiscard]] std::uint64_t sum(std::uint64_t begin, std::uint64_t bytes) const {
    return file::checksum(file_.data() + begin, bytes);
  }
  [[nodiscard]] std::uint64_t bits(std::uint64_t first, std::uint64_t width) const {
    std::uint64_t value = 0;
    for (std::uint64_t i = 0; i < width; ++i) {
      const auto byte = static_cast<unsigned char>(file_[(first + i) / 8]);
      value |= std::uint64_t{byte >> ((first + i) % 8) & 1u} << i;
    }
    return value;
  }

  void mend_payloads(std::uint64_t begin, std::uint64_t bytes) {
    if (!is_inside(begin, bytes)) return;
    const auto k = static_cast<std::uint32_t>(get(16));
    if (k <= 12) {
      for (std::uint64_t at = begin; at + 48 <= begin + bytes; at += 48)
        mend_payload(get(at), get(at + 8), at + 40);
      return;
    }
    constexpr std::uint64_t kShards = 4096, kColumns = 6;
    if (bytes < 8 + 8 * kShards) return;
    const std::uint64_t sums = begin + bytes - 8 * kShards;
    std::uint64_t words_at = begin + 8;
    for (std::uint64_t column = 0; column + 1 < kColumns; ++column)
      words_at += 8 * ((kShards * static_cast<unsigned char>(file_[begin + column]) + 63) / 64);
    const std::uint64_t width = static_cast<unsigned char>(file_[begin + kColumns - 1]);
    if (width > 64 || words_at + (kShards * width + 7) / 8 > sums) return;
    std::uint64_t payload = index::layout::kHeaderBytes;
    for (std::uint64_t shard = 0; shard < kShards; ++shard) {
      const std::uint64_t words = bits(8 * words_at + shard * width, width);
      mend_payload(payload, words, sums + 8 * shard);
      payload += 8 * words;
    }
  }
  void mend_payload(std::uint64_t begin, std::uint64_t words, std::uint64_t sum_at) {
    if (words <= file_.size() / 8 && is_inside(begin, 8 * words)) put(sum_at, sum(begin, 8 * words));
  }

  std::string& file_;
};

/// The parts of a good index.
class ChangedIndex {
 public:
  explicit ChangedIndex(const std::string& good) {
    using namespace index::layout;
    const Bytes file(reinterpret_cast<const std::byte*>(good.data()), good.size());
    params_ = decode_header(file, "");
    const Trailer trailer = decode_trailer(file, params_, "");
    directory_ = decode_directory(file, trailer, params_, "");
    totals_ = decode_totals(file, trailer, "");
    histogram_ = decode_histogram(file, trailer, "");
    provenance_ = decode_provenance(kIndexKind, file, trailer, "");
    for (const DirectoryEntry& entry : directory_) {
      payloads_.emplace_back(entry.payload_words);
      if (entry.payload_words == 0) continue;
      std::memcpy(payloads_.back().data(), good.data() + entry.offset, 8 * entry.payload_words);
      used_.push_back(payloads_.size() - 1);
    }
    if (has_strings(params_.k))
      lengths_ = groups::make_length_table(groups::GroupShape(params_.k).flank_bases());
  }

  /// Changes payloads, sizes and what is said of all k-mers, here and there.
  void change(Random& random) {
    for (std::uint64_t times = random() % 4; times > 0 && !used_.empty(); --times) change_shard(random);
    if (random() % 5 != 0) mend_totals();
    for (std::uint64_t times = random() % 8 == 0 ? 1 + random() % 2 : 0; times > 0; --times)
      change_totals(random);
    if (random() % 4 == 0) change_histogram(random);
    if (random() % 20 == 0) change_params(random);
    if (random() % 20 == 0) provenance_.inputs.assign(random() % 4, std::string(random() % 99, '\n'));
  }

  /// Gives all k-mers of strings one count, and does not say so. No group is to be large.
  void set_counts(std::uint64_t count) {
    const groups::GroupShape shape(params_.k);
    for (const std::size_t shard : used_) {
      std::vector<std::uint64_t>& words = payloads_[shard];
      words.resize(words.size() + kReadAheadWords);
      groups::ShardSizes& sizes = directory_[shard].sizes;
      ShardFields fields =
          FieldReader(groups::ShardBits(shape, sizes, words.data(), lengths_.data()), sizes).read();
      for (Part& part : fields.parts) {
        std::erase_if(part, [](const Field& field) { return field.kind == FieldKind::count; });
        bool is_width = true;  // it comes before the smallest count
        for (Field& field : part) {
          if (field.kind != FieldKind::count_head) continue;
          field.value = is_width ? 1 : count;
          is_width = !is_width;
        }
      }
      groups::EncodedShard changed = write_fields(fields, shape, lengths_);
      sizes = changed.sizes;
      words = std::move(changed.payload);
    }
  }

  /// Returns the file, with its checksums.
  [[nodiscard]] std::string bytes() { return assemble(); }
  /// Returns the file, with some of its bytes changed beside, and right checksums.
  [[nodiscard]] std::string bytes(Random& random) {
    std::string file = assemble();
    if (random() % 3 == 0) {
      for (std::uint64_t times = 1 + random() % 3; times > 0; --times) change_bytes(file, random);
      if (random() % 20 != 0) ChecksumMender(file).mend();
    }
    return file;
  }

 private:
  // --- Shards.

  void change_shard(Random& random) {
    const std::size_t shard = any_of(used_, random);
    if (random() % 10 == 0) {
      const std::size_t other = random() % 2 == 0 ? any_of(used_, random) : random() % payloads_.size();
      std::swap(payloads_[shard], payloads_[other]);
      std::swap(directory_[shard], directory_[other]);
    } else if (random() % 12 == 0) {
      const std::size_t other = random() % payloads_.size();
      payloads_[other] = payloads_[shard];
      directory_[other] = directory_[shard];
    } else if (random() % 4 == 0) {
      change_words(payloads_[shard], random);
    } else if (index::layout::has_strings(params_.k)) {
      change_strings(shard, random);
    } else {
      change_shape(directory_[shard].shape, random);
    }
  }
  void change_strings(std::size_t shard, Random& random) {
    const groups::GroupShape shape(params_.k);
    groups::ShardSizes& sizes = directory_[shard].sizes;
    std::vector<std::uint64_t> words = payloads_[shard];
    words.resize(words.size() + kReadAheadWords);
    // What was changed before may be no shard any more, or an empty one.
    if (sizes.words > 0 && !groups::find_shard_fault(shape, sizes, words.data(), lengths_.data())) {
      ShardFields fields =
          FieldReader(groups::ShardBits(shape, sizes, words.data(), lengths_.data()), sizes).read();
      for (std::uint64_t times = 1 + random() % 2; times > 0; --times)
        change_fields(fields, shape.flank_bases(), random);
      groups::EncodedShard changed = write_fields(fields, shape, lengths_, random() % 50 == 0 ? 1 : 0);
      sizes = changed.sizes;
      payloads_[shard] = std::move(changed.payload);
    }
    if (random() % 12 == 0) change_sizes(sizes, random);
    if (random() % 12 != 0) sizes.words = payloads_[shard].size();
  }
  static void change_shape(index::ShardShape& shape, Random& random) {
    const auto byte = static_cast<std::uint8_t>(random() % 66);
    switch (random() % 5) {
      case 0:
        shape.entries += random() % 3 - 1;
        break;
      case 1:
        shape.exceptions += random() % 3 - 1;
        break;
      case 2:
        shape.bucket_bits = byte;
        break;
      case 3:
        shape.count_bits = byte;
        break;
      default:
        shape.exception_bits = byte;
    }
  }

  // --- Everything else.

  /// Lets totals and histogram say what directories do.
  void mend_totals() {
    std::uint64_t kmers = 0;
    for (const auto& entry : directory_) kmers += entry.kmers();
    if (kmers == totals_.stored_distinct) return;
    histogram_ = kmers == 0 ? index::Histogram{} : index::Histogram{{1, kmers}};
    sum_histogram();
  }
  void sum_histogram() {
    totals_.stored_distinct = totals_.stored_kmers = totals_.largest_count = 0;
    for (const auto& [count, kmers] : histogram_) {
      totals_.stored_distinct += kmers;
      totals_.stored_kmers += count * kmers;
      totals_.largest_count = count;
    }
    totals_.counted_kmers = std::max(totals_.counted_kmers, totals_.stored_kmers);
    totals_.counted_distinct = std::max(totals_.counted_distinct, totals_.stored_distinct);
  }
  void change_totals(Random& random) {
    const std::vector<std::uint64_t*> numbers{&totals_.counted_kmers,   &totals_.counted_distinct,
                                              &totals_.counted_unique,  &totals_.stored_kmers,
                                              &totals_.stored_distinct, &totals_.largest_count,
                                              &totals_.min_count,       &totals_.max_count,
                                              &totals_.records,         &totals_.bases};
    std::uint64_t& number = *numbers[random() % numbers.size()];
    number = random() % 2 == 0 ? log_random(random) : number + random() % 3 - 1;
  }
  /// Says another count of some k-mers, so that the sums are still right, or nearly so.
  void change_histogram(Random& random) {
    if (histogram_.empty()) return;
    const auto from =
        std::next(histogram_.begin(), static_cast<std::ptrdiff_t>(random() % histogram_.size()));
    const std::uint64_t kmers = 1 + random() % from->second;
    if (kmers < from->second) {
      from->second -= kmers;
    } else {
      histogram_.erase(from);
    }
    const std::uint64_t count = random() % 8 == 0 ? log_random(random) : random() % 300;
    histogram_[std::max<std::uint64_t>(count, random() % 30 == 0 ? 0 : 1)] += kmers;
    if (random() % 8 != 0) sum_histogram();
  }
  void change_params(Random& random) {
    const auto number = static_cast<std::uint32_t>(random() % 70);
    switch (random() % 5) {
      case 0:
        params_.k = number;
        break;
      case 1:
        params_.minimizer_length = number;
        break;
      case 2:
        params_.shard_bits = number;
        break;
      case 3:
        params_.hash_version = number;
        break;
      default:
        params_.canonical = !params_.canonical;
    }
  }

  /// Changes bytes of a part: directory, header, totals and all others come as often as payloads.
  static void change_bytes(std::string& file, Random& random) {
    const std::uint64_t trailer = file.size() - index::layout::kTrailerBytes;
    std::vector<std::uint64_t> begins{0, index::layout::kHeaderBytes};
    for (std::uint64_t i = 0; i < 4; ++i) {
      std::uint64_t begin = 0;
      std::memcpy(&begin, file.data() + trailer + 24 * i, sizeof begin);
      begins.push_back(std::min(begin, trailer));
    }
    begins.push_back(trailer);
    begins.push_back(file.size());
    const std::size_t part = random() % (begins.size() - 1);
    const std::uint64_t begin = begins[part], end = std::max(begins[part + 1], begin + 1);
    // The end of a directory is checksums, which are made right again.
    const std::uint64_t bytes =
        part == 2 && random() % 8 != 0 ? std::min<std::uint64_t>(end - begin, 9000) : end - begin;
    const std::uint64_t at = std::min<std::uint64_t>(begin + random() % bytes, file.size() - 1);
    switch (random() % 8) {
      case 0:
        file[at] = static_cast<char>(random());
        break;
      case 1:
        file[at] = random() % 2 == 0 ? '\0' : '\xff';
        break;
      case 2: {
        const std::uint64_t value = log_random(random), aligned = std::min(at / 8 * 8, file.size() - 8);
        std::memcpy(file.data() + aligned, &value, sizeof value);
        break;
      }
      case 3:
        if (random() % 4 == 0) file.insert(at / 8 * 8, 8 * (1 + random() % 4), static_cast<char>(random()));
        break;
      case 4:
        if (random() % 4 == 0 && file.size() > 400) file.erase(std::min(at / 8 * 8, file.size() - 300), 8);
        break;
      default:
        file[at] = static_cast<char>(file[at] ^ 1 << random() % 8);
    }
  }

  [[nodiscard]] std::string assemble() {
    using namespace index::layout;
    const std::string header = encode_header(params_);
    std::string file = header;
    for (std::size_t shard = 0; shard < payloads_.size(); ++shard) {
      DirectoryEntry& entry = directory_[shard];
      const std::size_t bytes = 8 * payloads_[shard].size();
      entry.offset = file.size();
      entry.payload_words = payloads_[shard].size();
      entry.checksum = file::checksum(payloads_[shard].data(), bytes);
      file.append(reinterpret_cast<const char*>(payloads_[shard].data()), bytes);
    }
    Trailer trailer;
    const auto add = [&](const std::string& bytes, Section& section) {
      section = {file.size(), bytes.size(), file::checksum(bytes.data(), bytes.size())};
      file += bytes;
    };
    // Of a wrong k it is not known what a directory is.
    const bool has_good_k = params_.k >= 1 && params_.k <= kMaxK;
    add(encode_directory(directory_, has_good_k ? params_.k : 31), trailer.directory);
    add(encode_totals(totals_), trailer.totals);
    add(encode_histogram(histogram_), trailer.list);
    add(encode_provenance(provenance_), trailer.provenance);
    trailer.file_bytes = file.size() + kTrailerBytes;
    trailer.sections_checksum = sections_checksum(header, trailer);
    return file + encode_trailer(kIndexKind, trailer);
  }

  index::IndexParams params_;
  std::vector<index::layout::DirectoryEntry> directory_;
  std::vector<std::vector<std::uint64_t>> payloads_;
  std::vector<std::size_t> used_;  ///< shards that have k-mers
  std::vector<groups::FlankLengths> lengths_;
  index::Totals totals_;
  index::Histogram histogram_;
  index::Provenance provenance_;
};

}  // namespace warpmer::tests
