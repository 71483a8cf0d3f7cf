// The options by which `export` asks for passes (passes/rewrite.h).
#pragma once

#include <array>

#include "command_line.h"
#include "diag/diagnostics.h"
#include "passes/rewrite.h"
#include "support/expected.h"

namespace tenon::tools {

inline constexpr std::array kRewriteOptions = {
    Option{"--fold-constants", 0, "",
           "First computes, once, what depends on constants only; views of "
           "constants stay. The proof is made on what this and the options "
           "below give."},
    Option{
        "--fold-weights", 0, "",
        "The same, and parameters and buffers that nothing writes count as "
        "constants: other weights put in later don't reach what was folded."},
    Option{"--fold-growth", 0, "BYTES",
           "By how much folding may add to the program's tensors. Default: "
           "65536."},
    Option{"--remove-dead-code", 0, "",
           "First takes out nodes without use and without effects."},
    Option{"--device", 0, "[FROM=]TO",
           "First moves the program, or what of it is on FROM, to another "
           "device: 'cuda:0', 'cpu=cuda:0'."},
    Option{"--output-names", 0, "LIST",
           "First names the outputs, with commas between; nothing between two "
           "commas leaves an output's name."},
};

// What the options ask for; devices are names of `context`.
Expected<RewriteOptions> RewriteOptionsOf(const CommandLine& line,
                                          Context* context, Diagnostics& diags);

}  // namespace tenon::tools
