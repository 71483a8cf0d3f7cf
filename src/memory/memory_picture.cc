#include "memory/memory_picture.h"

#include <algorithm>
#include <cstdio>

#include "support/byte_text.h"
#include "support/counted.h"

namespace tenon {
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
  explicit Picture(std::span<const PicturedPlan> plans) {
    for (const PicturedPlan& plan : plans) {
      if (plan.num_steps == 0) continue;
      plans_.push_back(&plan);
      largest_ = std::max(largest_, plan.size_bytes);
    }
  }

  std::string Write() {
    double x = kLeft;
    for (const PicturedPlan* plan : plans_) x = Plan(*plan, x) + kGap;
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
  double Plan(const PicturedPlan& plan, double x) {
    const auto count = static_cast<double>(plan.num_steps);
    const double width = std::clamp(kStepWidth * count, kMinWidth, kMaxWidth);
    const double step = width / count;
    out_ += "  <rect x=\"" + Number(x) + "\" y=\"" + Number(kTop) +
            "\" width=\"" + Number(width) + "\" height=\"" + Number(kHeight) +
            "\" fill=\"#f5f5f5\"/>\n";
    Text(x, kTop - 20, "start",
         plan.title + ": " + Count(plan.num_steps, "step") + ", arena " +
             ByteText(plan.size_bytes));
    Text(x, kTop + kHeight + 16, "start", "step 0");
    Text(x + width, kTop + kHeight + 16, "end",
         std::to_string(plan.num_steps - 1));
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const PicturedBuffer& b = plan.buffers[i];
      const double top = Y(b.offset + b.size_bytes);
      const double length = static_cast<double>(b.steps.last) -
                            static_cast<double>(b.steps.first) + 1;
      out_ += "  <rect x=\"" + Number(x + step * b.steps.first) + "\" y=\"" +
              Number(top) + "\" width=\"" + Number(step * length) +
              "\" height=\"" + Number(Y(b.offset) - top) + "\" fill=\"" +
              std::string(kColors[i % std::size(kColors)]) +
              "\" stroke=\"white\" stroke-width=\"0.5\"><title>" +
              Escaped(Describe(b)) + "</title></rect>\n";
    }
    return x + width;
  }

  static std::string Describe(const PicturedBuffer& b) {
    return ByteText(b.size_bytes) + " at " + std::to_string(b.offset) +
           ", steps " + std::to_string(b.steps.first) + " to " +
           std::to_string(b.steps.last) +
           (b.about.empty() ? "" : ": " + b.about);
  }

  std::vector<const PicturedPlan*> plans_;
  uint64_t largest_ = 0;
  std::string out_;
};

}  // namespace

std::vector<PicturedBuffer> PictureBuffers(std::span<const Lifetime> lifetimes,
                                           std::span<const uint64_t> offsets,
                                           std::span<const std::string> about) {
  std::vector<PicturedBuffer> out;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    const Lifetime& life = lifetimes[i];
    if (life.size_bytes == 0) continue;
    uint32_t first = life.first;
    const auto add = [&](uint32_t last) {
      out.push_back({offsets[i], life.size_bytes, {first, last}, about[i]});
    };
    for (const StepRange& gap : life.gaps) {
      if (gap.first > first) add(gap.first - 1);
      first = gap.last + 1;
    }
    add(life.last);
  }
  return out;
}

std::string MemoryAsSvg(std::span<const PicturedPlan> plans) {
  return Picture(plans).Write();
}

}  // namespace tenon
