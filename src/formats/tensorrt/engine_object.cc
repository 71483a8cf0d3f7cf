#include "formats/tensorrt/engine_object.h"

#include <limits>
#include <unordered_map>

#include "formats/pickle/pickle_tree.h"
#include "formats/pickle/torch_save.h"
#include "formats/zip/zip_writer.h"

namespace tenon {
namespace {

constexpr std::string_view kTorchScriptGlobal =
    "__torch__.torch.classes.tensorrt Engine";
constexpr std::string_view kPythonGlobal =
    "torch_tensorrt.dynamo.runtime._TRTEngine TRTEngine";
// What EngineSerializer is pickled as.
constexpr std::string_view kReconstructGlobal =
    "torch_tensorrt.dynamo.runtime._TRTEngine _reconstruct_trt_engine";
constexpr std::string_view kTypeTagGlobal =
    "torch.jit._pickle restore_type_tag";

// Finds the list of strings in what was pickled. Null: it isn't there.
const PickleNode* FindFields(const PickleTree& tree) {
  const auto global = [&](const PickleNode& node) {
    return node.items.empty() ? std::string_view()
                              : tree.get(node.items[0]).text;
  };
  const auto first_of = [&](const PickleNode& tuple) -> const PickleNode* {
    if (tuple.kind != PickleKind::kTuple || tuple.items.empty()) return nullptr;
    return &tree.get(tuple.items[0]);
  };
  const PickleNode& root = tree.root();
  if (root.kind == PickleKind::kReduce && root.items.size() == 2 &&
      global(root) == kReconstructGlobal) {
    return first_of(tree.get(root.items[1]));
  }
  if (root.kind != PickleKind::kObject || root.state == 0) return nullptr;
  const PickleNode& state = tree.get(root.state);
  if (global(root) == kPythonGlobal) return first_of(state);
  if (global(root) != kTorchScriptGlobal) return nullptr;
  // The list says of what type it is: restore_type_tag([...], "List[str]").
  if (state.kind == PickleKind::kReduce && state.items.size() == 2 &&
      global(state) == kTypeTagGlobal) {
    return first_of(tree.get(state.items[1]));
  }
  return &state;
}

// A pickle of protocol 2 with the memo that PyTorch's pickler keeps: every
// string is stored, an equal one is fetched.
class PickleOut {
 public:
  PickleOut() { out_ = "\x80\x02"; }

  void Raw(std::string_view text) { out_ += text; }
  // "module name".
  void Global(std::string_view global) {
    const size_t space = global.find(' ');
    out_ += 'c';
    out_.append(global.substr(0, space)).append("\n");
    out_.append(global.substr(space + 1)).append("\n");
    Memoize();
  }
  void String(std::string_view text) {
    const auto [it, is_new] = memo_.emplace(text, num_memoized_);
    if (!is_new) {
      out_ += 'h';
      out_ += static_cast<char>(it->second);
      return;
    }
    if (text.size() <= std::numeric_limits<uint32_t>::max()) {
      out_ += 'X';
      Integer(text.size(), 4);
    } else {
      out_ += '\x8D';
      Integer(text.size(), 8);
    }
    out_ += text;
    Memoize();
  }
  void Memoize() {
    out_ += 'q';
    out_ += static_cast<char>(num_memoized_++);
  }
  std::string Take() { return std::move(out_); }

 private:
  void Integer(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      out_ += static_cast<char>(value >> (8 * i) & 0xFF);
    }
  }

  std::string out_;
  std::unordered_map<std::string_view, uint8_t> memo_;
  uint8_t num_memoized_ = 0;  // there are fewer than 32
};

std::string TorchScriptPickle(std::span<const std::string> fields) {
  PickleOut out;
  out.Global(kTorchScriptGlobal);
  out.Raw(")\x81");
  out.Global(kTypeTagGlobal);
  out.Raw("](");
  for (const std::string& field : fields) out.String(field);
  out.Raw("e");
  out.String("List[str]");
  out.Raw("\x86R");
  out.Memoize();
  out.Raw("b");
  out.Memoize();
  out.Raw(".");
  return out.Take();
}

std::string PythonPickle(std::span<const std::string> fields) {
  PickleOut out;
  out.Global(kPythonGlobal);
  out.Raw(")\x81");
  out.Memoize();
  out.Raw("]");
  out.Memoize();
  out.Raw("(");
  for (const std::string& field : fields) out.String(field);
  out.Raw("e");
  out.String("TRTEngine");
  out.Raw("\x86");
  out.Memoize();
  out.Raw("b.");
  return out.Take();
}

// The container of torch._C._pickle_save.
Expected<std::string> TorchScriptContainer(const std::string& pickle,
                                           const Place& place,
                                           Diagnostics& diags) {
  std::string out;
  ZipWriter zip;
  const bool is_written =
      zip.OpenMemory(&out, "archive") && zip.Add("data.pkl", AsBytes(pickle)) &&
      zip.Add("version", AsBytes("3\n")) &&
      zip.Add("byteorder", AsBytes("little")) &&
      zip.Add(".data/serialization_id", AsBytes(zip.SerializationId())) &&
      zip.WriteDirectory();
  if (!is_written) return diags.Error(Rule::kIo, place) << zip.error();
  return out;
}

}  // namespace

Expected<EngineStrings> ReadEngineObject(Bytes bytes,
                                         std::shared_ptr<const void> owner,
                                         const Place& place,
                                         Diagnostics& diags) {
  const std::string name = place.ToString();
  TENON_ASSIGN(const ZipContent pickle, FindPickle(bytes, name, diags));
  TENON_ASSIGN(const PickleTree tree,
               PickleTree::Parse(pickle.bytes, name, diags));
  const PickleNode* fields = FindFields(tree);
  if (fields == nullptr || fields->kind != PickleKind::kList) {
    return diags.Error(Rule::kEngine01, place)
           << "the object is no TensorRT engine: no list of strings in a "
           << kTorchScriptEngineClass << " or " << kPythonEngineClass;
  }
  EngineStrings out;
  out.owner = std::make_shared<
      std::pair<std::shared_ptr<const void>, std::shared_ptr<const void>>>(
      std::move(owner), pickle.owner);
  for (const PickleRef ref : fields->items) {
    const PickleNode& field = tree.get(ref);
    if (field.kind != PickleKind::kString) {
      const size_t index = out.fields.size();
      DiagnosticBuilder error = diags.Error(Rule::kEngine01, place);
      error << "engine record, field " << index;
      if (index < kNumEngineFields) {
        error << " '" << Name(static_cast<EngineField>(index)) << "'";
      }
      error << ": not a string";
      return error;
    }
    out.fields.push_back(field.text);
  }
  return out;
}

Expected<std::string> WriteEngineObject(std::span<const std::string> fields,
                                        std::string_view class_name,
                                        const Place& place,
                                        Diagnostics& diags) {
  if (class_name == kPythonEngineClass) return PythonPickle(fields);
  if (class_name == kTorchScriptEngineClass) {
    return TorchScriptContainer(TorchScriptPickle(fields), place, diags);
  }
  return diags.Error(Rule::kUnsupported, place)
         << "an engine can't be written as an object of class '" << class_name
         << "', only of " << kTorchScriptEngineClass << " and "
         << kPythonEngineClass;
}

}  // namespace tenon
