#include "tables/report.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace warpmer::bench {
namespace {

/// Numbers that were not measured are empty.
std::string number_or_nothing(double value) { return value < 0 ? "" : fmt::format("{:.4f}", value); }

std::string csv_line(const Row& row, const char* operation, const std::string& hits,
                     const Measured& measured) {
  const Configuration& c = row.configuration;
  return fmt::format("\"{}\",{},{},{},{},{},{},{},{},{},{:.4f},{:.2f},{},{},{:.1f},{},{},{:.4f},{},{}\n",
                     row.device, c.table, c.group, c.bucket, c.window, c.hashes,
                     name_of(row.keys.distribution), row.keys.pairs, row.distinct, row.slots, row.load,
                     row.bytes_per_key, operation, hits, measured.mops, number_or_nothing(measured.probes),
                     row.method.builds, static_cast<double>(row.successes) / row.method.builds, row.homeless,
                     name_of(row.outcome));
}

nlohmann::ordered_json json_of(const Measured& measured) {
  nlohmann::ordered_json json;
  json["mops"] = measured.mops;
  if (measured.probes >= 0) json["probes"] = measured.probes;
  return json;
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
  fmt::print("{:<10} {:>5} {:>6} {:>6} {:>6} {:>7} {:>11} {:>6} {:>6} {:>8} {:>6}", "table", "group",
             "bucket", "window", "hashes", "keys", "pairs", "load", "B/key", "insert", "probes");
  for (const std::uint32_t hits : hits_percent)
    fmt::print(" {:>8} {:>6}", fmt::format("find{}", hits), "probes");
  fmt::print(" {:>7} {}\n", "success", "verified");
  std::fflush(stdout);
}

void TextReport::add(const Row& row) const {
  const Configuration& c = row.configuration;
  const auto measured = [](const Measured& one) {
    return fmt::format("{:>8.0f} {:>6}", one.mops, one.probes < 0 ? "-" : fmt::format("{:.2f}", one.probes));
  };
  fmt::print("{:<10} {:>5} {:>6} {:>6} {:>6} {:>7} {:>11} {:>6.3f} {:>6.2f} {}", c.table, c.group, c.bucket,
             c.window == 0 ? "-" : std::to_string(c.window), c.hashes == 0 ? "-" : std::to_string(c.hashes),
             name_of(row.keys.distribution), row.keys.pairs, row.load, row.bytes_per_key,
             measured(row.insert));
  for (const Measured& find : row.find) fmt::print(" {}", measured(find));
  fmt::print(" {:>7} {}\n", fmt::format("{}/{}", row.successes, row.method.builds), name_of(row.outcome));
  std::fflush(stdout);
}

std::string csv_of(const std::vector<Row>& rows) {
  std::string csv =
      "device,table,group,bucket,window,hashes,keys,pairs,distinct,slots,load,bytes_per_key,operation,hits,"
      "mops,"
      "probes,builds,success_rate,homeless,verified\n";
  for (const Row& row : rows) {
    csv += csv_line(row, "insert", "", row.insert);
    for (std::size_t i = 0; i < row.find.size(); ++i)
      csv += csv_line(row, "find", std::to_string(row.method.hits_percent[i]), row.find[i]);
  }
  return csv;
}

std::string json_of(const std::vector<Row>& rows) {
  auto all = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    const Configuration& c = row.configuration;
    nlohmann::ordered_json json;
    json["device"] = row.device;
    json["table"] = c.table;
    json["group"] = c.group;
    json["bucket"] = c.bucket;
    json["window"] = c.window;
    json["hashes"] = c.hashes;
    json["keys"] = name_of(row.keys.distribution);
    json["pairs"] = row.keys.pairs;
    json["distinct"] = row.distinct;
    json["slots"] = row.slots;
    json["load"] = row.load;
    json["bytes_per_key"] = row.bytes_per_key;
    json["insert"] = json_of(row.insert);
    json["find"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < row.find.size(); ++i) {
      auto find = json_of(row.find[i]);
      find["hits"] = row.method.hits_percent[i];
      json["find"].push_back(find);
    }
    json["builds"] = row.method.builds;
    json["successes"] = row.successes;
    json["homeless"] = row.homeless;
    json["verified"] = name_of(row.outcome);
    all.push_back(json);
  }
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
