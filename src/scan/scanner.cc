#include "scan/scanner.h"

namespace tenon {

Nested::Nested(Scanner* scanner, const std::string& place)
    : scanner_(*scanner),
      fits_(++scanner->nesting <= scanner->options.max_nesting) {
  if (fits_) return;
  scanner_.Danger(Rule::kXLimit01, Place::File(place))
      << "lies in more than " << scanner_.options.max_nesting
      << " containers and isn't looked at";
}

}  // namespace tenon
