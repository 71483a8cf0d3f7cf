// Pickles: what they import, what lies in their literals, what follows them.
#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "scan/pickle_walk.h"
#include "scan/scanner.h"

namespace tenon {
namespace {

// The shortest call of anything, "cos\nx\n)R.", is longer.
constexpr size_t kMinPickleBytes = 8;
// torch.save's stream: magic number, version, system, object, storage keys.
constexpr int kMaxPicklesInARow = 1000;

struct Literal {
  Bytes bytes;
  uint64_t at = 0;
};

bool MayBePickle(Bytes bytes) {
  if (bytes.size() < kMinPickleBytes) return false;
  const auto first = static_cast<unsigned char>(AsText(bytes)[0]);
  if (first == 0x80) return static_cast<unsigned char>(AsText(bytes)[1]) <= 5;
  return std::string_view("c(}])ilV").find(AsText(bytes)[0]) !=
         std::string_view::npos;
}

bool IsZip(Bytes bytes) { return AsText(bytes).substr(0, 4) == "PK\003\004"; }

PickleFacts Walk(Bytes bytes, uint64_t offset, std::vector<Literal>* literals,
                 Scanner* scanner) {
  PickleWalkLimits limits;
  limits.max_opcodes =
      std::min(limits.max_opcodes, scanner->pickle_opcodes_left);
  PickleFacts facts =
      WalkPickle(bytes, offset, limits, [literals](Bytes literal, uint64_t at) {
        // Most are names of weights.
        if (MayBePickle(literal) || IsZip(literal)) {
          literals->push_back({literal, at});
        }
      });
  scanner->pickle_opcodes_left -=
      std::min(scanner->pickle_opcodes_left, facts.num_opcodes);
  return facts;
}

std::string_view Verb(const PickleImport& import) {
  return import.is_called ? "calls" : "imports";
}

void ReportImport(const PickleImport& import, ImportKind kind,
                  const std::string& place, Scanner* scanner) {
  const Place at = Place::Offset(place, import.at);
  const std::string name = import.module + "." + import.name;
  switch (kind) {
    case ImportKind::kPlain:
    case ImportKind::kUnpickles:  // what it unpickles is looked at, too
      return;
    case ImportKind::kActing:
      scanner->Danger(Rule::kXPickle01, at)
          << "unpickling " << Verb(import) << " '" << name << "'";
      return;
    case ImportKind::kData:
      scanner->Caution(Rule::kXPickle02, at)
          << "unpickling " << Verb(import) << " '" << name
          << "', which plain tensors don't need";
      return;
    case ImportKind::kUnknown:
      scanner->Caution(Rule::kXPickle02, at)
          << "unpickling " << Verb(import) << " '" << name
          << "' of a library that isn't known";
      return;
  }
}

void ReportOddity(const PickleOddity& oddity, const std::string& place,
                  Scanner* scanner) {
  const Place at = Place::Offset(place, oddity.at);
  switch (oddity.kind) {
    case PickleOddity::Kind::kComputedImport:
      scanner->Danger(Rule::kXPickle03, at)
          << "unpickling imports what it computes the name of";
      return;
    case PickleOddity::Kind::kCallOfResult:
      scanner->Danger(Rule::kXPickle03, at)
          << "unpickling calls what a call returned";
      return;
    case PickleOddity::Kind::kChangedImport:
      scanner->Danger(Rule::kXPickle03, at)
          << "unpickling changes '" << oddity.text << "' itself";
      return;
    case PickleOddity::Kind::kExtension:
      scanner->Caution(Rule::kXPickle02, at)
          << "unpickling makes an object of a class that only a number of the "
             "reader's process names";
      return;
  }
}

void Report(const PickleFacts& facts, const std::string& place,
            Scanner* scanner) {
  ScannedPickle pickle;
  pickle.place = place;
  pickle.protocol = facts.protocol;
  for (const PickleImport& import : facts.imports) {
    // TorchScript's own classes; their code lies in the same archive.
    const ImportKind kind = import.module.starts_with("__torch__")
                                ? ImportKind::kPlain
                                : JudgeImport(import.module, import.name);
    pickle.imports.push_back({import.module + "." + import.name, kind});
    ReportImport(import, kind, place, scanner);
  }
  scanner->report.pickles.push_back(std::move(pickle));
  for (const PickleOddity& oddity : facts.oddities) {
    ReportOddity(oddity, place, scanner);
  }
  if (facts.hit_limit) {
    scanner->Danger(Rule::kXLimit01, Place::Offset(place, facts.end))
        << "the pickle has " << facts.problem
        << "; what follows isn't looked at";
  }
}

void ScanLiterals(const std::vector<Literal>& literals,
                  const std::string& place, Scanner* scanner) {
  if (literals.empty()) return;
  const Nested nested(scanner, place);
  if (!nested.fits()) return;
  for (const Literal& literal : literals) {
    ScanForPickle(literal.bytes,
                  place + ": bytes at " + std::to_string(literal.at), scanner);
  }
}

// Dotted identifiers, not numbers that happen to begin like an import.
bool IsName(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
           c == '.';
  });
}

// Whether bytes that were tried are a pickle: one that imports something, up to
// its end. A broken one counts if it acts, which it does until it breaks.
bool IsPickle(const PickleFacts& facts) {
  if (facts.problem.empty()) {
    return !facts.imports.empty() || !facts.oddities.empty();
  }
  return std::any_of(facts.imports.begin(), facts.imports.end(),
                     [](const PickleImport& import) {
                       return IsName(import.module) && IsName(import.name) &&
                              JudgeImport(import.module, import.name) ==
                                  ImportKind::kActing;
                     });
}

// Tries the bytes from `offset` on, one pickle after the other. torch.save's
// streams end in numbers, which are none.
void TryPickles(Bytes bytes, uint64_t offset, const std::string& place,
                Scanner* scanner) {
  for (int i = 0; i < kMaxPicklesInARow && offset < bytes.size(); ++i) {
    std::vector<Literal> literals;
    const PickleFacts facts = Walk(bytes, offset, &literals, scanner);
    if (facts.hit_limit || IsPickle(facts)) Report(facts, place, scanner);
    if (facts.problem.empty()) ScanLiterals(literals, place, scanner);
    if (!facts.problem.empty()) return;
    offset = facts.end;
  }
}

}  // namespace

void ScanPickle(Bytes bytes, const std::string& place, Scanner* scanner) {
  std::vector<Literal> literals;
  const PickleFacts facts = Walk(bytes, 0, &literals, scanner);
  Report(facts, place, scanner);
  ScanLiterals(literals, place, scanner);
  if (!facts.problem.empty()) {
    if (!facts.hit_limit) {
      scanner->Danger(Rule::kXPickle04, Place::Offset(place, facts.end))
          << "no unpickler gets further: " << facts.problem;
    }
    return;
  }
  TryPickles(bytes, facts.end, place, scanner);
}

void ScanTorchSave(Bytes bytes, const std::string& place, Scanner* scanner) {
  if (bytes.empty()) return;  // what PyTorch writes for nothing
  if (IsZip(bytes)) return ScanArchive(bytes, place, scanner);
  ScanPickle(bytes, place, scanner);
}

void ScanForPickle(Bytes bytes, const std::string& place, Scanner* scanner) {
  if (IsZip(bytes)) return ScanArchive(bytes, place, scanner);
  if (MayBePickle(bytes)) TryPickles(bytes, 0, place, scanner);
}

}  // namespace tenon
