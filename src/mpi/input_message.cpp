#include "mpi/input_message.h"

#include <cstring>
#include <string_view>

namespace warpmer::mpi {

void put_file(Message& message, const io::InputFile& file) {
  put_text(message, file.path);
  put_text(message, file.shown);
  put_plain(message, file.disk_bytes);
  put_plain(message, file.is_regular);
  put_plain(message, file.is_url);
}

io::InputFile take_file(MessageReader& message) {
  io::InputFile file;
  file.path = message.text();
  file.shown = message.text();
  file.disk_bytes = message.plain<std::uint64_t>();
  file.is_regular = message.plain<bool>();
  file.is_url = message.plain<bool>();
  return file;
}

void put_batch(Message& message, const io::Batch& batch) {
  const std::size_t pieces_bytes = batch.pieces.size() * sizeof(io::Piece);
  message.reserve(message.size() + batch.text.size() + pieces_bytes + batch.file.size() + 64);
  put_plain(message, batch.ordinal);
  put_text(message, batch.file);
  put_text(message, {batch.text.data(), batch.text.size()});
  put_text(message, {reinterpret_cast<const char*>(batch.pieces.data()), pieces_bytes});
}

void take_batch(MessageReader& message, io::Batch& batch) {
  batch.clear();
  batch.ordinal = message.plain<std::uint64_t>();
  batch.file = message.text();
  const std::string_view text = message.text();
  batch.text.reserve(text.size());
  batch.text.append(text);
  const std::string_view pieces = message.text();
  batch.pieces.resize(pieces.size() / sizeof(io::Piece));
  if (!pieces.empty()) std::memcpy(batch.pieces.data(), pieces.data(), pieces.size());
  batch.input_bytes = 0;
  batch.is_for_all = false;
  batch.is_of_part = false;
}

}  // namespace warpmer::mpi
