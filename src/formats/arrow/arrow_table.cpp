// The only code that includes Apache Arrow: tables as its IPC files and as Parquet. It is a module of its
// own, which formats/table/arrow_module.cpp opens.

#include <arrow/api.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "formats/table/arrow_module.h"
#include "formats/table/table.h"

namespace warpmer::formats {
namespace {

using ArrowArrays = std::vector<std::shared_ptr<arrow::Array>>;

/// The program's file, as Arrow sees one. An error of the program waits here until Arrow has returned.
class ArrowSink : public arrow::io::OutputStream {
 public:
  explicit ArrowSink(WriteTable write) : write_(std::move(write)) {}

  void say(const Progress& so_far) { so_far_ = so_far; }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

  arrow::Status Write(const void* data, std::int64_t bytes) override {
    if (error_) return arrow::Status::IOError("the file cannot be written");
    try {
      write_({static_cast<const char*>(data), static_cast<std::size_t>(bytes)}, so_far_);
    } catch (...) {
      error_ = std::current_exception();
      return arrow::Status::IOError("the file cannot be written");
    }
    offset_ += bytes;
    return arrow::Status::OK();
  }
  using OutputStream::Write;
  arrow::Status Close() override {
    is_closed_ = true;
    return arrow::Status::OK();
  }
  arrow::Result<std::int64_t> Tell() const override { return offset_; }
  bool closed() const override { return is_closed_; }

 private:
  WriteTable write_;
  Progress so_far_;
  std::exception_ptr error_;
  std::int64_t offset_ = 0;
  bool is_closed_ = false;
};

bool is_of_bytes(ColumnType type) { return type == ColumnType::text || type == ColumnType::kmer; }

std::shared_ptr<arrow::DataType> type_of(ColumnType type) {
  if (is_of_bytes(type)) return arrow::utf8();
  return type == ColumnType::real ? arrow::float64() : arrow::uint64();
}

template <class Value>
std::shared_ptr<arrow::Buffer> wrap(const std::vector<Value>& values) {
  return arrow::Buffer::Wrap(values);
}

/// Returns a bit for each row, set where there is a value; null if there is one everywhere.
std::shared_ptr<arrow::Buffer> presence(const ColumnValues& values, std::int64_t& lacking) {
  lacking = 0;
  std::string bits((values.lacks.size() + 7) / 8, '\0');
  for (std::size_t row = 0; row < values.lacks.size(); ++row) {
    if (values.lacks[row] != 0) {
      ++lacking;
    } else {
      bits[row / 8] = static_cast<char>(bits[row / 8] | 1 << row % 8);
    }
  }
  return lacking == 0 ? nullptr : arrow::Buffer::FromString(std::move(bits));
}

/// Returns an array in the memory of `values`.
std::shared_ptr<arrow::Array> array_of(const TableColumn& column, const ColumnValues& values,
                                       std::size_t rows) {
  std::int64_t lacking = 0;
  const bool has_offsets = is_of_bytes(column.type);
  std::vector<std::shared_ptr<arrow::Buffer>> buffers(has_offsets ? 3 : 2);
  buffers[0] = presence(values, lacking);
  if (has_offsets) {
    buffers[1] = wrap(values.offsets);
    buffers[2] = std::make_shared<arrow::Buffer>(values.text);
  } else {
    buffers[1] = column.type == ColumnType::real ? wrap(values.reals) : wrap(values.numbers);
  }
  return arrow::MakeArray(arrow::ArrayData::Make(type_of(column.type), static_cast<std::int64_t>(rows),
                                                 std::move(buffers), lacking));
}

/// InputError for text that is not UTF-8, as all text is in these files.
void check_text(const arrow::Array& texts, const std::string& what) {
  if (!texts.ValidateFull().ok())
    throw InputError(what + " are not all UTF-8, as text in Arrow and Parquet is; write tsv or npz");
}

std::shared_ptr<arrow::Schema> schema_of(const TableSchema& table) {
  arrow::FieldVector fields;
  arrow::StringBuilder names;
  for (const TableColumn& column : table.columns) {
    fields.push_back(arrow::field(column.name, type_of(column.type), column.may_lack));
    if (const arrow::Status status = names.Append(column.name); !status.ok())
      throw ResourceError("Arrow: " + status.message());
  }
  check_text(*names.Finish().ValueOrDie(), "names of samples");
  return arrow::schema(std::move(fields), arrow::key_value_metadata({{"k", std::to_string(table.k)}}));
}

/// The common part of both formats.
class ArrowTable : public TableWriter {
 public:
  ArrowTable(const TableSchema& table, WriteTable write)
      : table_(table), schema_(schema_of(table)), sink_(std::make_shared<ArrowSink>(std::move(write))) {}

  void append(const TableBatch& batch, const Progress& so_far) override {
    sink_->say(so_far);
    ArrowArrays arrays;
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      const TableColumn& column = table_.columns[i];
      arrays.push_back(array_of(column, batch.columns[i], batch.rows));
      if (column.type == ColumnType::text) check_text(*arrays.back(), "names in column " + column.name);
    }
    require(append(*arrow::RecordBatch::Make(schema_, static_cast<std::int64_t>(batch.rows), arrays)));
  }

 protected:
  virtual arrow::Status append(const arrow::RecordBatch& batch) = 0;

  /// Throws what the status says is wrong.
  void require(const arrow::Status& status) const {
    if (status.ok()) return;
    sink_->rethrow();
    throw ResourceError("Apache Arrow cannot write the table: " + status.message());
  }
  template <class Value>
  Value require(arrow::Result<Value> result) const {
    require(result.status());
    return std::move(result).ValueUnsafe();
  }

  TableSchema table_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<ArrowSink> sink_;
};

/// Not compressed, so that programs can map it.
class ArrowIpcTable : public ArrowTable {
 public:
  ArrowIpcTable(const TableSchema& table, WriteTable write) : ArrowTable(table, std::move(write)) {
    arrow::ipc::IpcWriteOptions options = arrow::ipc::IpcWriteOptions::Defaults();
    options.use_threads = false;
    writer_ = require(arrow::ipc::MakeFileWriter(sink_, schema_, options));
  }
  void finish() override { require(writer_->Close()); }

 protected:
  arrow::Status append(const arrow::RecordBatch& batch) override { return writer_->WriteRecordBatch(batch); }

 private:
  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
};

std::shared_ptr<parquet::WriterProperties> parquet_properties(const TableSchema& table) {
  parquet::WriterProperties::Builder properties;
  const auto compression = arrow::Compression::ZSTD;
  if (arrow::util::Codec::IsAvailable(compression)) properties.compression(compression);
  // All texts are different: a dictionary of them would only be filled and given up.
  for (const TableColumn& column : table.columns) {
    if (is_of_bytes(column.type)) properties.disable_dictionary(column.name);
  }
  return properties.build();
}

/// Memory that encoding and compressing a batch takes besides it (measured: 16 to 25 MiB).
constexpr std::size_t kParquetBytes = std::size_t{25} << 20;

/// A batch is a group of rows.
class ParquetTable : public ArrowTable {
 public:
  ParquetTable(const TableSchema& table, WriteTable write)
      : ArrowTable(table, std::move(write)), held_(kParquetBytes, '\1') {
    const auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    writer_ = require(parquet::arrow::FileWriter::Open(*schema_, arrow::default_memory_pool(), sink_,
                                                       parquet_properties(table), arrow_properties));
  }
  void finish() override { require(writer_->Close()); }

 protected:
  arrow::Status append(const arrow::RecordBatch& batch) override {
    std::vector<char>().swap(held_);
    const auto table = arrow::Table::Make(schema_, batch.columns(), batch.num_rows());
    return writer_->WriteTable(*table, batch.num_rows());
  }

 private:
  std::vector<char> held_;  ///< so that it counts when it is asked how much memory is left
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
};

}  // namespace
}  // namespace warpmer::formats

/// The symbol that formats/table/arrow_module.cpp looks for: kMakeArrowTableSymbol.
extern "C" __attribute__((visibility("default"))) warpmer::formats::TableWriter* warpmer_make_arrow_table(
    bool is_parquet, const warpmer::formats::TableSchema& table, const warpmer::formats::WriteTable& write) {
  using namespace warpmer::formats;
  if (is_parquet) return new ParquetTable(table, write);
  return new ArrowIpcTable(table, write);
}
