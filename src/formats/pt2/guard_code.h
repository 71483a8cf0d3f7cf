// Which guards may travel on. PyTorch compiles the strings of `guards_code` as
// Python and runs them when a loaded program becomes a module.
#pragma once

#include <string_view>

namespace tenon {

// Whether the text can do nothing but compare: it is made of the inputs (L),
// their size(), stride(), storage_offset(), dim() and the like, literals,
// subscripts, arithmetic without powers, comparisons and and/or/not. Where
// there is a product, texts are keys only and there are no tuples, since those
// times a number can be of any size.
bool IsHarmlessGuard(std::string_view guard);

}  // namespace tenon
