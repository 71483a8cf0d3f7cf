#include "stats_table.h"

#include "json_writer.h"
#include "tensor_elements.h"
#include "text_table.h"

namespace tenon::tools {
namespace {

struct BoundText {
  std::string operator()(double value) const { return NumberText(value); }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(uint64_t value) const { return std::to_string(value); }
};

std::string MeanText(const NamedStats& t) {
  if (!IsComplex(t.tensor.dtype())) return NumberText(t.stats.mean);
  const double imaginary = t.stats.mean_imaginary;
  return NumberText(t.stats.mean) + (imaginary < 0 ? "" : "+") +
         NumberText(imaginary) + "j";
}

struct BoundJson {
  JsonWriter& json;
  void operator()(double value) { json.Double(value); }
  void operator()(int64_t value) { json.Int(value); }
  void operator()(uint64_t value) { json.Uint(value); }
};

void WriteRange(const NamedStats& t, JsonWriter* json) {
  const bool has_range = t.stats.num_finite > 0;
  const auto write = [&](std::string_view key, const StatsBound& bound) {
    json->Key(key);
    if (has_range) {
      std::visit(BoundJson{*json}, bound);
    } else {
      json->Null();
    }
  };
  const auto write_sum = [&](std::string_view key, double value) {
    json->Key(key);
    if (has_range) {
      json->Double(value);
    } else {
      json->Null();
    }
  };
  write("min", t.stats.min);
  write("max", t.stats.max);
  write_sum("mean", t.stats.mean);
  if (IsComplex(t.tensor.dtype())) {
    write_sum("mean_imaginary", t.stats.mean_imaginary);
  }
  write_sum("norm", t.stats.norm);
}

}  // namespace

std::string StatsAsText(const std::vector<NamedStats>& tensors) {
  TextTable table(
      {"tensor", "type", "min", "max", "mean", "norm", "zero", "nan", "inf"},
      2);
  for (const NamedStats& t : tensors) {
    const TensorStats& s = t.stats;
    const bool has_range = s.num_finite > 0;
    const auto bound = [&](const StatsBound& b) {
      return has_range ? std::visit(BoundText(), b) : std::string("-");
    };
    table.Add({t.name, t.tensor.ToString(), bound(s.min), bound(s.max),
               has_range ? MeanText(t) : "-",
               has_range ? NumberText(s.norm) : "-", std::to_string(s.num_zero),
               std::to_string(s.num_nan), std::to_string(s.num_inf)});
  }
  return table.ToString();
}

std::string StatsAsJson(const std::vector<NamedStats>& tensors) {
  JsonWriter json;
  json.BeginArray();
  for (const NamedStats& t : tensors) {
    json.BeginObject();
    json.Member("name", t.name);
    json.Member("kind", t.kind);
    json.Member("dtype", Name(t.tensor.dtype()));
    json.Key("shape");
    json.BeginArray();
    for (const int64_t size : t.tensor.sizes()) json.Int(size);
    json.EndArray();
    json.Member("elements", t.stats.num_elements);
    WriteRange(t, &json);
    json.Member("zeros", t.stats.num_zero);
    json.Member("nans", t.stats.num_nan);
    json.Member("infinities", t.stats.num_inf);
    json.EndObject();
  }
  json.EndArray();
  return json.Take();
}

}  // namespace tenon::tools
