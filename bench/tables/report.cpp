#include "tables/report.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace warpmer::bench {
namespace {

/// Numbers that were not measured are empty.
std::string number_or_nothing(double value) { return value < 0 ? "" : fmt::format("{:.4f}", value); }

/// Pairs for each key that they are drawn from.
double repeats_of(const KeyPlan& keys) {
  if (keys.distribution == Distribution::unique) return 1;
  return static_cast<double>(keys.pairs) / static_cast<double>(keys.universe);
}

/// Returns the distribution of the keys, and whether their last values stay.
std::string name_of(const KeyPlan& keys) {
  return fmt::format("{}{}", name_of(keys.distribution), keys.last_writer ? "-last" : "");
}

/// Returns the distribution of the keys, in short.
std::string keys_in_short(const KeyPlan& keys) {
  if (keys.distribution == Distribution::unique) return name_of(keys.distribution);
  return fmt::format("{} x{:.3g}", name_of(keys), repeats_of(keys));
}

std::string csv_line(const Row& row, const std::string& operation, const std::string& hits,
                     const Measured& measured) {
  const Configuration& c = row.configuration;
  return fmt::format(
      "{},\"{}\",{},{},{},{},{},{},{:.6g},{},{},{},{:.4f},{:.2f},{:.4f},{},{},{},{},{},{},{:.6g},{},{},{:.4f}"
      ",{},{}"
      "\n",
      row.figure, row.device, c.table, c.group, c.bucket, c.window, c.hashes, name_of(row.keys),
      repeats_of(row.keys), row.keys.pairs, row.distinct, row.slots, row.load, row.bytes_per_key,
      row.utilization, row.batch, row.mix, row.method.ahead ? 1 : 0, row.method.split ? 1 : 0, operation,
      hits, measured.mops, number_or_nothing(measured.probes), row.method.builds,
      static_cast<double>(row.successes) / row.method.builds, row.overflow, name_of(row.outcome));
}

nlohmann::ordered_json json_of(const Measured& measured) {
  nlohmann::ordered_json json;
  json["mops"] = measured.mops;
  if (measured.probes >= 0) json["probes"] = measured.probes;
  return json;
}

nlohmann::ordered_json json_of(const Row& row) {
  const Configuration& c = row.configuration;
  nlohmann::ordered_json json;
  if (!row.figure.empty()) json["figure"] = row.figure;
  json["device"] = row.device;
  json["table"] = c.table;
  json["group"] = c.group;
  json["bucket"] = c.bucket;
  json["window"] = c.window;
  json["hashes"] = c.hashes;
  json["keys"] = name_of(row.keys);
  json["repeats"] = repeats_of(row.keys);
  json["pairs"] = row.keys.pairs;
  json["distinct"] = row.distinct;
  json["slots"] = row.slots;
  json["load"] = row.load;
  json["bytes_per_key"] = row.bytes_per_key;
  json["utilization"] = row.utilization;
  if (row.batch != 0) json["batch"] = row.batch;
  if (!row.mix.empty()) json["mix"] = row.mix;
  json["ahead"] = row.method.ahead;
  json["split"] = row.method.split;
  for (const OtherOperation& other : row.others) json[other.name] = json_of(other.measured);
  if (row.others.empty()) {
    json["insert"] = json_of(row.insert);
    json["find"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < row.find.size(); ++i) {
      auto find = json_of(row.find[i]);
      find["hits"] = row.method.hits_percent[i];
      json["find"].push_back(find);
    }
  }
  json["builds"] = row.method.builds;
  json["successes"] = row.successes;
  json["overflow"] = row.overflow;
  json["verified"] = name_of(row.outcome);
  return json;
}

void print_table_row(const Row& row) {
  const Configuration& c = row.configuration;
  const auto measured = [](const Measured& one) {
    return fmt::format("{:>8.0f} {:>6}", one.mops, one.probes < 0 ? "-" : fmt::format("{:.2f}", one.probes));
  };
  const auto number_or_dash = [](int n) { return n == 0 ? "-" : std::to_string(n); };
  fmt::print("{:<24} {:>5} {:>6} {:>6} {:>6} {:>11} {:>11} {:>6.3f} {:>6.3f} {:>6.2f} {}", c.table, c.group,
             number_or_dash(c.bucket), number_or_dash(c.window), number_or_dash(c.hashes),
             keys_in_short(row.keys), row.keys.pairs, row.load, row.utilization, row.bytes_per_key,
             measured(row.insert));
  for (const Measured& find : row.find) fmt::print(" {}", measured(find));
  fmt::print(" {:>7} {}\n", fmt::format("{}/{}", row.successes, row.method.builds), name_of(row.outcome));
}

}  // namespace

const char* name_of(Distribution distribution) {
  switch (distribution) {
    case Distribution::unique:
      return "unique";
    case Distribution::uniform:
      return "uniform";
    case Distribution::zipf:
      return "zipf";
  }
  return "";
}

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::right:
      return "ok";
    case Outcome::incomplete:
      return "incomplete";
    case Outcome::wrong:
      return "FAILED";
  }
  return "";
}

void TextReport::begin(const std::vector<std::uint32_t>& hits_percent) const {
  fmt::print("{:<24} {:>5} {:>6} {:>6} {:>6} {:>11} {:>11} {:>6} {:>6} {:>6} {:>8} {:>6}", "table", "group",
             "bucket", "window", "hashes", "keys", "pairs", "load", "util", "B/key", "insert", "probes");
  for (const std::uint32_t hits : hits_percent)
    fmt::print(" {:>8} {:>6}", fmt::format("find{}", hits), "probes");
  fmt::print(" {:>7} {}\n", "success", "verified");
  std::fflush(stdout);
}

void TextReport::begin_others() const {
  fmt::print("{:<24} {:>5} {:>6} {:>11} {:>9} {:>11} {:>6} {:>6} {:>6} {:>10} {:>8} {}\n", "table", "group",
             "bucket", "pairs", "batch", "mix", "load", "util", "B/key", "operation", "mops", "verified");
  std::fflush(stdout);
}

void TextReport::add(const Row& row) const {
  const Configuration& c = row.configuration;
  for (const OtherOperation& other : row.others) {
    fmt::print("{:<24} {:>5} {:>6} {:>11} {:>9} {:>11} {:>6.3f} {:>6.3f} {:>6.2f} {:>10} {:>8.0f} {}\n",
               c.table, c.group, c.bucket, row.keys.pairs, row.batch == 0 ? "-" : std::to_string(row.batch),
               row.mix.empty() ? "-" : row.mix, row.load, row.utilization, row.bytes_per_key, other.name,
               other.measured.mops, name_of(row.outcome));
  }
  if (row.others.empty()) print_table_row(row);
  std::fflush(stdout);
}

std::string csv_of(const std::vector<Row>& rows) {
  std::string csv =
      "figure,device,table,group,bucket,window,hashes,keys,repeats,pairs,distinct,slots,load,bytes_per_key,"
      "utilization,"
      "batch,mix,ahead,split,operation,hits,mops,probes,builds,success_rate,overflow,verified\n";
  for (const Row& row : rows) {
    for (const OtherOperation& other : row.others) csv += csv_line(row, other.name, "", other.measured);
    if (!row.others.empty()) continue;
    csv += csv_line(row, "insert", "", row.insert);
    for (std::size_t i = 0; i < row.find.size(); ++i)
      csv += csv_line(row, "find", std::to_string(row.method.hits_percent[i]), row.find[i]);
  }
  return csv;
}

std::string json_of(const std::vector<Row>& rows) {
  auto all = nlohmann::ordered_json::array();
  for (const Row& row : rows) all.push_back(json_of(row));
  return all.dump(2) + "\n";
}

void write_report(const std::string& path, const std::string& text) {
  std::FILE* file = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
  if (file == nullptr)
    throw ResourceError(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = (path == "-" ? std::fflush(file) : std::fclose(file)) == 0;
  if (!written || !closed)
    throw ResourceError(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
}

}  // namespace warpmer::bench
