#include "formats/table/npz_table.h"

#include <algorithm>
#include <span>
#include <utility>

#include "kmer/alphabet.h"
#include "kmer/kmer.h"

namespace warpmer::formats {
namespace {

template <class Number>
std::string_view bytes_of_numbers(std::span<const Number> numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()};
}

/// Appends the numbers of a row of several columns, row after row.
void append_matrix(const std::vector<std::size_t>& columns, const TableBatch& batch, ByteSpool& spool) {
  std::vector<std::uint64_t> row(columns.size());
  for (std::size_t i = 0; i < batch.rows; ++i) {
    for (std::size_t at = 0; at < columns.size(); ++at) row[at] = batch.columns[columns[at]].numbers[i];
    spool.append(bytes_of_numbers<std::uint64_t>(row));
  }
}

/// Appends k-mers as one number of 64 bits, or for k above 32 as two, the upper one first.
void append_kmers(const ColumnValues& values, std::size_t rows, bool is_wide, ByteSpool& spool) {
  for (std::size_t i = 0; i < rows; ++i) {
    std::uint64_t words[2] = {0, 0};
    for (const char base : values.text_of(i)) {
      words[0] = words[0] << 2 | words[1] >> 62;
      words[1] = words[1] << 2 | base_code(base);
    }
    spool.append(bytes_of_numbers(std::span<const std::uint64_t>(words).subspan(is_wide ? 0 : 1)));
  }
}

/// Appends each text with a line feed, which is in none.
void append_texts(const ColumnValues& values, std::size_t rows, std::size_t& longest, ByteSpool& spool) {
  for (std::size_t i = 0; i < rows; ++i) {
    const std::string_view text = values.text_of(i);
    longest = std::max(longest, text.size());
    spool.append(text);
    spool.append("\n");
  }
}

/// Writes the texts of a spool, all as long as the longest.
void write_texts(const ByteSpool& spool, std::size_t longest, NpzWriter& npz) {
  std::string text, padded;
  spool.read([&](std::string_view piece) {
    padded.clear();
    for (std::size_t end; (end = piece.find('\n')) != std::string_view::npos; piece.remove_prefix(end + 1)) {
      text += piece.substr(0, end);
      text.resize(longest);
      padded += text;
      text.clear();
      if (padded.size() < (std::size_t{1} << 20)) continue;
      npz.append(padded);
      padded.clear();
    }
    text += piece;
    npz.append(padded);
  });
}

}  // namespace

NpzTable::NpzTable(const TableSchema& schema, const std::string& directory, WriteTable write)
    : schema_(schema), write_(std::move(write)), file_(directory) {
  for (std::size_t i = 0; i < schema.columns.size(); ++i) {
    const TableColumn& column = schema.columns[i];
    if (arrays_.empty() || !column.is_sample || !arrays_.back().is_matrix)
      arrays_.push_back({column.array, column.type, column.is_sample, {}, 1, ByteSpool(file_)});
    arrays_.back().columns.push_back(i);
  }
}

void NpzTable::append(const TableBatch& batch, const Progress& /*so_far*/) {
  rows_ += batch.rows;
  for (NpzArray& array : arrays_) append(array, batch);
}

void NpzTable::append(NpzArray& array, const TableBatch& batch) {
  const ColumnValues& values = batch.columns[array.columns.front()];
  switch (array.type) {
    case ColumnType::number:
      if (array.is_matrix) return append_matrix(array.columns, batch, array.spool);
      return array.spool.append(bytes_of_numbers<std::uint64_t>(values.numbers));
    case ColumnType::real:
      return array.spool.append(bytes_of_numbers<double>(values.reals));
    case ColumnType::text:
      return append_texts(values, batch.rows, array.longest, array.spool);
    case ColumnType::kmer:
      return append_kmers(values, batch.rows, schema_.k > kMaxNarrowK, array.spool);
  }
}

std::uint64_t NpzTable::bytes_of(const NpzArray& array) const {
  return array.type == ColumnType::text ? rows_ * array.longest : array.spool.bytes();
}

void NpzTable::write(const NpzArray& array, NpzWriter& npz) const {
  if (array.type == ColumnType::text) {
    npz.begin_bytes(array.name, rows_, array.longest);
    write_texts(array.spool, array.longest, npz);
  } else {
    NpzWriter::Shape shape = {rows_};
    if (array.type == ColumnType::kmer && schema_.k > kMaxNarrowK) shape.push_back(2);
    if (array.is_matrix) shape.push_back(array.columns.size());
    if (array.type == ColumnType::real) {
      npz.begin_reals(array.name, shape);
    } else {
      npz.begin(array.name, shape);
    }
    array.spool.read([&](std::string_view piece) { npz.append(piece); });
  }
  npz.end();
}

void NpzTable::finish() {
  Progress so_far;
  for (const NpzArray& array : arrays_) so_far.total += bytes_of(array);
  NpzWriter npz([&](std::string_view bytes) {
    so_far.done = std::min(so_far.done + bytes.size(), so_far.total);
    write_(bytes, so_far);
  });
  const std::uint64_t k = schema_.k;
  npz.add("k", std::span(&k, 1), {});
  std::vector<std::string> samples;
  for (const TableColumn& column : schema_.columns) {
    if (column.is_sample) samples.push_back(column.name);
  }
  if (!samples.empty()) npz.add("samples", samples);
  for (const NpzArray& array : arrays_) write(array, npz);
  npz.finish();
}

}  // namespace warpmer::formats
