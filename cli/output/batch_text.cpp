#include "cli/output/batch_text.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace warpmer::cli {
namespace {

using mpi::Message;
using mpi::MessageReader;

void put_item(Message& message, const std::string& text) { mpi::put_text(message, text); }

void put_item(Message& message, const ReadPart& part) {
  mpi::put_text(message, part.name);
  mpi::put_plain(message, part.last);
  mpi::put_plain(message, std::uint64_t{part.tally.size()});
  for (const auto& [count, kmers] : part.tally) {
    mpi::put_plain(message, count);
    mpi::put_plain(message, kmers);
  }
}

void put_interval(Message& message, const std::optional<TrackInterval>& interval) {
  mpi::put_plain(message, interval.has_value());
  mpi::put_plain(message, interval.value_or(TrackInterval{}));
}

void put_item(Message& message, const TrackPart& part) {
  mpi::put_text(message, part.name);
  put_interval(message, part.first);
  mpi::put_text(message, part.between);
  put_interval(message, part.final);
  mpi::put_plain(message, part.last);
}

ReadPart take_read_part(MessageReader& in) {
  ReadPart part;
  part.name = in.text();
  part.last = in.plain<bool>();
  for (auto left = in.plain<std::uint64_t>(); left > 0; --left) {
    const auto count = in.plain<std::uint64_t>();
    part.tally[count] = in.plain<std::uint64_t>();
  }
  return part;
}

std::optional<TrackInterval> take_interval(MessageReader& in) {
  const bool is_there = in.plain<bool>();
  const auto interval = in.plain<TrackInterval>();
  return is_there ? std::optional(interval) : std::nullopt;
}

TrackPart take_track_part(MessageReader& in) {
  TrackPart part;
  part.name = in.text();
  part.first = take_interval(in);
  part.between = in.text();
  part.final = take_interval(in);
  part.last = in.plain<bool>();
  return part;
}

}  // namespace

void BatchJoiner::write(BatchText&& batch, const Progress& so_far) {
  const auto write = [&](std::string_view text) { put(text, so_far); };
  for (auto& item : batch) {
    if (auto* const read = std::get_if<ReadPart>(&item)) {
      write(reads_.add(std::move(*read)));
    } else if (auto* const track = std::get_if<TrackPart>(&item)) {
      tracks_.add(*track, write);
    } else {
      write(std::get<std::string>(item));
    }
  }
}

/// Writes what the output has not yet of a text.
void BatchJoiner::put(std::string_view text, const Progress& so_far) {
  const std::uint64_t begin = written_;
  written_ += text.size();
  if (written_ <= known_) return;
  output_.write(text.substr(static_cast<std::size_t>(known_ - std::min(known_, begin))), so_far);
}

void BatchJoiner::begin_again() {
  reads_ = {};
  known_ = std::max(known_, written_);
  written_ = 0;
}

void put_batch_text(Message& message, const BatchText& batch) {
  mpi::put_plain(message, std::uint64_t{batch.size()});
  for (const auto& item : batch) {
    mpi::put_plain(message, static_cast<std::uint8_t>(item.index()));
    std::visit([&](const auto& part) { put_item(message, part); }, item);
  }
}

BatchText take_batch_text(MessageReader& in) {
  BatchText batch;
  for (auto left = in.plain<std::uint64_t>(); left > 0; --left) {
    switch (in.plain<std::uint8_t>()) {
      case 0:
        batch.emplace_back(std::string(in.text()));
        break;
      case 1:
        batch.emplace_back(take_read_part(in));
        break;
      default:
        batch.emplace_back(take_track_part(in));
    }
  }
  return batch;
}

}  // namespace warpmer::cli
