#include "cli/pictures/blob_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "cli/arguments/quantity.h"
#include "cli/pictures/chart.h"

namespace warpmer::cli {
namespace {

constexpr double kBlobLeft = 62, kBlobTop = 34, kBlobSide = 360, kBlobMargin = 18;
constexpr double kBlobWidth = kBlobLeft + kBlobSide + kBlobMargin;
constexpr double kBlobText = 12;
/// Room for halves of circles at the sides, which would hide numbers.
constexpr double kBlobRoom = 16;
/// The radius of a circle of the largest size, and what all have more than their size says.
constexpr double kLargestRadius = 14, kLeastRadius = 1.5;

class BlobDrawing {
 public:
  BlobDrawing(const BlobPlot& plot, Svg::Frame frame)
      : plot_(plot),
        svg_(frame, kBlobWidth, kBlobTop + kBlobSide + 54 + kRow * static_cast<double>(lines().size()),
             plot.title) {
    for (const Blob& blob : plot.blobs) {
      most_ = std::max({most_, static_cast<double>(blob.x), static_cast<double>(blob.y)});
      largest_ = std::max(largest_, static_cast<double>(blob.size));
    }
    most_ *= 1.01;
  }

  std::string draw() {
    svg_.text(8, 20, 14, shortened_text(plot_.title, 48), "class=\"ink\"");
    draw_axes();
    for (const Blob& blob : plot_.blobs) {
      const double share = largest_ > 0 ? static_cast<double>(blob.size) / largest_ : 0;
      svg_.circle(x_of(static_cast<double>(blob.x)), y_of(static_cast<double>(blob.y)),
                  kLeastRadius + kLargestRadius * std::sqrt(share),
                  fmt::format("class=\"fill{}\" fill-opacity=\".45\"", blob.group + 1),
                  fmt::format("{}, {}: {} {}, {} {}, {} in all", plot_.groups[blob.group], blob.name,
                              with_thousands(blob.x), plot_.x_name, with_thousands(blob.y), plot_.y_name,
                              with_thousands(blob.size)));
    }
    draw_lines();
    return svg_.finish();
  }

 private:
  static constexpr double kRow = 18;

  /// Returns the rows below the picture: names of groups, and what is left out.
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (const std::string& group : plot_.groups) lines.push_back(shortened_text(group, 50));
    if (plot_.all > plot_.blobs.size()) {
      lines.push_back(
          fmt::format("the largest {} of {}", with_thousands(plot_.blobs.size()), with_thousands(plot_.all)));
    }
    return lines;
  }
  void draw_lines() {
    const std::vector<std::string> rows = lines();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double y = kBlobTop + kBlobSide + 46 + kRow * static_cast<double>(i);
      if (i < plot_.groups.size()) svg_.rect(kBlobLeft, y, 10, 10, fmt::format("class=\"fill{}\"", i + 1));
      svg_.text(kBlobLeft + 15, y + 9.5, kBlobText, rows[i], "class=\"ink\"");
    }
  }

  [[nodiscard]] double x_of(double value) const {
    return kBlobLeft + kBlobRoom + (kBlobSide - 2 * kBlobRoom) * value / most_;
  }
  [[nodiscard]] double y_of(double value) const {
    return kBlobTop + kBlobSide - kBlobRoom - (kBlobSide - 2 * kBlobRoom) * value / most_;
  }

  void draw_axes() {
    const double bottom = kBlobTop + kBlobSide, right = kBlobLeft + kBlobSide;
    for (const double value : ticks_between(0, most_, 5)) {
      const double x = x_of(value), y = y_of(value);
      svg_.path(fmt::format("M{:.1f} {:.1f}H{:.1f}", kBlobLeft, y, right), "class=\"grid\"");
      svg_.path(fmt::format("M{:.1f} {:.1f}V{:.1f}", x, bottom, kBlobTop), "class=\"grid\"");
      svg_.text(kBlobLeft - 5, y + 4, kBlobText, tick_text(value), "class=\"faint\" text-anchor=\"end\"");
      svg_.text(x, bottom + 17, kBlobText, tick_text(value), "class=\"faint\" text-anchor=\"middle\"");
    }
    svg_.path(fmt::format("M{:.1f} {:.1f}V{:.1f}H{:.1f}", kBlobLeft, kBlobTop, bottom, right),
              "class=\"axis\"");
    svg_.text(kBlobLeft + kBlobSide / 2, bottom + 35, kBlobText, shortened_text(plot_.x_name, 48),
              "class=\"ink\" text-anchor=\"middle\"");
    svg_.vertical_text(14, kBlobTop + kBlobSide / 2, kBlobText, -90, shortened_text(plot_.y_name, 48),
                       "class=\"ink\" text-anchor=\"middle\"");
  }

  const BlobPlot& plot_;
  double most_ = 1, largest_ = 0;
  Svg svg_;
};

}  // namespace

void LargestBlobs::add(Blob blob) {
  kept_.push_back({std::move(blob), all_++});
  if (kept_.size() >= 2 * kMost) keep_largest();
}

void LargestBlobs::keep_largest() {
  const auto is_before = [](const Ranked& a, const Ranked& b) {
    return std::tie(b.blob.size, a.ordinal) < std::tie(a.blob.size, b.ordinal);
  };
  std::sort(kept_.begin(), kept_.end(), is_before);
  if (kept_.size() > kMost) kept_.resize(kMost);
}

std::vector<Blob> LargestBlobs::take() {
  keep_largest();
  std::vector<Blob> blobs;
  blobs.reserve(kept_.size());
  for (Ranked& ranked : kept_) blobs.push_back(std::move(ranked.blob));
  kept_.clear();
  return blobs;
}

std::string draw_blobs(const BlobPlot& plot, Svg::Frame frame) { return BlobDrawing(plot, frame).draw(); }

}  // namespace warpmer::cli
