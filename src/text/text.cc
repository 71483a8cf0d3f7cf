#include "text/text.h"

#include "text/parser.h"
#include "text/printer.h"

namespace tenon {

std::string PrintProgram(const Program& program, const PrintOptions& options) {
  Printer printer(program, options);
  printer.PrintProgram();
  return printer.Take();
}

std::string PrintGraph(const Program& program, GraphId graph,
                       const PrintOptions& options) {
  Printer printer(program, options);
  printer.PrintGraph(graph);
  printer.PrintMetadataTable();
  return printer.Take();
}

std::string PrintNode(const Program& program, NodeId node) {
  Printer printer(program);
  printer.PrintNode(node);
  return printer.Take();
}

std::string PrintType(const Program& program, TypeId type) {
  return TypePrinter(&program.context()).Text(type);
}

Expected<Program> ParseProgram(std::string_view text,
                               const std::string& file_name,
                               std::shared_ptr<Context> context,
                               const PayloadSource& payloads,
                               Diagnostics& diags, const ReadLimits& limits) {
  return Parser(text, file_name, std::move(context), payloads, limits, &diags)
      .Parse();
}

}  // namespace tenon
