// A small program, its archive, and edits of the archive's members.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "../../scratch.h"
#include "formats/pt2/pt2.h"
#include "formats/zip/zip_reader.h"
#include "formats/zip/zip_writer.h"

namespace tenon {

inline std::string TestPath(const std::string& name) {
  return ScratchPath(name);
}

inline std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline TypeId Float32(Context& context, std::vector<int64_t> sizes,
                      bool requires_grad = false) {
  Type type;
  type.kind = TypeKind::kTensor;
  type.dtype = DType::kFloat32;
  type.requires_grad = requires_grad;
  type.device.type = context.Intern("cpu");
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    type.sizes.insert(type.sizes.begin(), SymInt::Literal(sizes[d]));
    type.strides.insert(type.strides.begin(), SymInt::Literal(stride));
    stride *= sizes[d];
  }
  return context.types.Intern(std::move(type));
}

// A call of a binary operator with positional arguments, as torch writes it.
inline ValueId Binary(Program& p, GraphId g, const std::string& op, ValueId a,
                      ValueId b, const std::string& name, TypeId type) {
  Context& context = p.context();
  const NodeId n = p.NewOp(context.InternOp(op), StringId());
  const ArgRange args = p.NewArgs(2);
  p.SetArgRange(n, args);
  p.SetArgLabel(args[0], context.Intern("self"), PassKind::kPositional);
  p.SetArgLabel(args[1], context.Intern("other"), PassKind::kPositional);
  p.SetValueArg(args[0], n, a);
  p.SetValueArg(args[1], n, b);
  const ValueRange results = p.NewResults(n, 1);
  p.mutable_value(results[0]).name = context.Intern(name);
  p.mutable_value(results[0]).type = type;
  p.Append(g, n);
  return results[0];
}

inline void Return(Program& p, GraphId g, const std::vector<ValueId>& values) {
  const ArgRange range = p.NewArgs(static_cast<uint32_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    p.SetValueArg(range[i], p.graph(g).output, values[i]);
  }
  p.SetOutputs(g, range);
}

// forward(a, *, b) = a * b + bias, the example of docs/formats/pt2.md.
inline Program WorkedExample() {
  auto context = std::make_shared<Context>();
  Program p(context);
  p.AddGraph("main");
  const TypeId plain = Float32(*context, {3});
  const TypeId grad = Float32(*context, {3}, true);
  const ValueId bias =
      p.AddInput(Program::kRoot, grad, context->Intern("p_bias"));
  const ValueId a = p.AddInput(Program::kRoot, plain, context->Intern("a"));
  const ValueId b = p.AddInput(Program::kRoot, plain, context->Intern("b"));
  const ValueId mul =
      Binary(p, Program::kRoot, "aten.mul.Tensor", a, b, "mul", plain);
  const ValueId add =
      Binary(p, Program::kRoot, "aten.add.Tensor", mul, bias, "add", grad);
  Return(p, Program::kRoot, {add});

  static const float kBias[] = {0.5f, -1.0f, 2.0f};
  StorageRecord record;
  record.bytes = std::as_bytes(std::span(kBias));
  StateEntry entry;
  entry.fqn = context->Intern("bias");
  entry.kind = StateKind::kParameter;
  entry.type = grad;
  entry.storage = p.state.AddStorage(record);
  entry.is_param = true;
  const StateId state = p.state.Add(entry);
  p.signature.inputs = {{InputKind::kParameter, state, false}, {}, {}};
  p.signature.outputs = {{}};
  p.in_spec = TreeSpec::Tuple({TreeSpec::Tuple({TreeSpec::Leaf()}),
                               TreeSpec::Dict({"b"}, {TreeSpec::Leaf()})});
  p.out_spec = TreeSpec::Leaf();
  p.has_forward_arg_names = true;
  p.forward_arg_names = {"a", "b"};
  return p;
}

inline std::string WriteToBytes(const Program& p, const std::string& file,
                                Pt2WriteReport* report = nullptr,
                                std::string_view release = "") {
  Diagnostics diags;
  const std::string path = TestPath(file);
  Pt2WriteOptions options;
  if (!release.empty()) options.release = FindPt2Release(release);
  const auto result = WritePt2(p, path, options, diags);
  EXPECT_TRUE(result) << diags.ToString();
  if (result && report != nullptr) *report = *result;
  std::string bytes = ReadFile(path);
  std::remove(path.c_str());
  return bytes;
}

inline std::string MemberText(const std::string& archive,
                              const std::string& name) {
  Diagnostics diags;
  const auto zip =
      ZipArchive::Open(AsBytes(archive), nullptr, "x", ReadLimits(), diags);
  EXPECT_TRUE(zip) << diags.ToString();
  const ZipMember* member = zip->Find(name);
  if (member == nullptr) return "no member " + name;
  return std::string(AsText(zip->Read(*member, true, diags)->bytes));
}

// The archive with one member's text edited.
inline std::string Edit(const std::string& archive, const std::string& name,
                        const std::function<std::string(std::string)>& edit) {
  Diagnostics diags;
  const auto zip =
      ZipArchive::Open(AsBytes(archive), nullptr, "x", ReadLimits(), diags);
  EXPECT_TRUE(zip) << diags.ToString();
  const std::string path = TestPath("tenon_edit.pt2");
  ZipWriter writer;
  EXPECT_TRUE(writer.Open(path, "tiny"));
  for (const ZipMember& m : zip->members()) {
    std::string text(AsText(zip->Read(m, true, diags)->bytes));
    const std::string member(m.name.substr(m.name.find('/') + 1));
    if (member == name) text = edit(text);
    EXPECT_TRUE(writer.Add(member, AsBytes(text)));
  }
  EXPECT_TRUE(writer.Finish());
  const std::string bytes = ReadFile(path);
  std::remove(path.c_str());
  return bytes;
}

inline std::string Replace(std::string text, const std::string& from,
                           const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

inline std::string EditModel(const std::string& from, const std::string& to) {
  return Edit(WriteToBytes(WorkedExample(), "tiny.pt2"), "models/model.json",
              [&](std::string text) { return Replace(text, from, to); });
}

// Borrows `bytes`, which must outlive the program.
inline Expected<Program> Read(const std::string& bytes, Diagnostics& diags,
                              const Pt2ReadOptions& options = {}) {
  return ReadPt2(AsBytes(bytes), nullptr, "tiny.pt2",
                 std::make_shared<Context>(), options, diags);
}

inline void ExpectError(const std::string& bytes, Rule rule,
                        const std::string& part) {
  Diagnostics diags;
  EXPECT_FALSE(Read(bytes, diags));
  ASSERT_EQ(diags.num_errors(), 1u);
  EXPECT_EQ(diags.all()[0].rule, rule);
  EXPECT_NE(diags.ToString().find(part), std::string::npos) << diags.ToString();
}

#define META(grad)                                                        \
  "{\"dtype\": 7, \"sizes\": [{\"as_int\": 3}], \"requires_grad\": " grad \
  ", \"device\": {\"type\": \"cpu\", \"index\": null}, \"strides\": "     \
  "[{\"as_int\": 1}], \"storage_offset\": {\"as_int\": 0}, \"layout\": 7}"

}  // namespace tenon
