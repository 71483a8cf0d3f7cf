#include "memory_picture.h"

#include <algorithm>
#include <cstdio>

#include "size_text.h"
#include "support/counted.h"

namespace tenon::tools {
namespace {

constexpr double kHeight = 480, kTop = 40, kLeft = 80, kGap = 40;
constexpr double kMinWidth = 160, kMaxWidth = 1200, kStepWidth = 12;
constexpr std::string_view kColors[] = {"#6fa8dc", "#93c47d", "#ffd966",
                                        "#e06666", "#8e7cc3", "#f6b26b",
                                        "#76a5af", "#c27ba0"};

std::string Number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.2f", value);
  std::string out = buffer;
  out.erase(out.find_last_not_of('0') + 1);
  if (out.back() == '.') out.pop_back();
  return out;
}

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        // Control characters can't stand in XML at all.
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

class Picture {
 public:
  explicit Picture(const std::vector<RegionProfile>& regions) {
    for (const RegionProfile& region : regions) {
      if (!region.listing || region.listing->steps.empty()) continue;
      regions_.push_back(&region);
      largest_ = std::max(largest_, region.listing->arena_bytes);
    }
  }

  std::string Write() {
    double x = kLeft;
    for (const RegionProfile* region : regions_) x = Region(*region, x) + kGap;
    Scale();
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + Number(x) +
           "\" height=\"" + Number(kTop + kHeight + kGap) +
           "\" font-family=\"sans-serif\" font-size=\"12\">\n" + out_ +
           "</svg>\n";
  }

 private:
  double Y(uint64_t offset) const {
    return kTop + kHeight -
           kHeight * static_cast<double>(offset) /
               static_cast<double>(std::max<uint64_t>(largest_, 1));
  }

  void Text(double x, double y, std::string_view anchor,
            const std::string& text) {
    out_ += "  <text x=\"" + Number(x) + "\" y=\"" + Number(y) +
            "\" text-anchor=\"" + std::string(anchor) + "\">" + Escaped(text) +
            "</text>\n";
  }

  void Scale() {
    constexpr uint64_t kMarks = 4;
    for (uint64_t i = 0; i <= kMarks; ++i) {
      const uint64_t bytes = largest_ * i / kMarks;
      Text(kLeft - 8, Y(bytes) + 4, "end", ByteText(bytes));
    }
  }

  // The right edge.
  double Region(const RegionProfile& region, double x) {
    const PlanListing& listing = *region.listing;
    const auto count = static_cast<double>(listing.steps.size());
    const double width = std::clamp(kStepWidth * count, kMinWidth, kMaxWidth);
    const double step = width / count;
    out_ += "  <rect x=\"" + Number(x) + "\" y=\"" + Number(kTop) +
            "\" width=\"" + Number(width) + "\" height=\"" + Number(kHeight) +
            "\" fill=\"#f5f5f5\"/>\n";
    Text(x, kTop - 20, "start",
         region.name + " (" + region.backend +
             "): " + Count(listing.steps.size(), "step") + ", arena " +
             ByteText(listing.arena_bytes));
    Text(x, kTop + kHeight + 16, "start", "step 0");
    Text(x + width, kTop + kHeight + 16, "end",
         std::to_string(listing.steps.size() - 1));
    for (size_t i = 0; i < listing.buffers.size(); ++i) {
      const ListedBuffer& b = listing.buffers[i];
      const double top = Y(b.offset + b.size_bytes);
      out_ += "  <rect x=\"" + Number(x + step * b.first_step) + "\" y=\"" +
              Number(top) + "\" width=\"" +
              Number(step * (b.last_step - b.first_step + 1)) + "\" height=\"" +
              Number(Y(b.offset) - top) + "\" fill=\"" +
              std::string(kColors[i % std::size(kColors)]) +
              "\" stroke=\"white\" stroke-width=\"0.5\"><title>" +
              Escaped(Describe(listing, b)) + "</title></rect>\n";
    }
    return x + width;
  }

  static std::string Describe(const PlanListing& listing,
                              const ListedBuffer& b) {
    std::string out =
        ByteText(b.size_bytes) + " at " + std::to_string(b.offset) +
        ", steps " + std::to_string(b.first_step) + " to " +
        std::to_string(b.last_step) + ": " + listing.steps[b.first_step].name;
    for (const std::string& op : listing.steps[b.first_step].ops) {
      out += " " + op;
    }
    return out;
  }

  std::vector<const RegionProfile*> regions_;
  uint64_t largest_ = 0;
  std::string out_;
};

}  // namespace

std::string MemoryAsSvg(const std::vector<RegionProfile>& regions) {
  return Picture(regions).Write();
}

}  // namespace tenon::tools
