// An engine's record as a delegate, and back.
//
// What a delegate has a field for is there: the engine is its payload, binding
// names are input_names and output_names, aliased_io is the declared writes.
// The other fields are its metadata, under the fields' own names.
#pragma once

#include <string_view>
#include <vector>

#include "diag/diagnostics.h"
#include "formats/tensorrt/engine_record.h"
#include "ir/program.h"
#include "support/expected.h"

namespace tenon {

constexpr std::string_view kEngineBackend = "tensorrt";

// Metadata beside the record's fields: under which name, and as an object of
// which class, the program held the engine. Absent for placeholder calls.
constexpr std::string_view kEngineObjectKey = "object";
constexpr std::string_view kEngineClassKey = "object_class";

// The text of a delegate's metadata; "" when there is none.
std::string_view FindMetadata(const Program& program, const Delegate& delegate,
                              std::string_view key);

// Whether a call with these operands can be one of this engine, and the types
// of all its outputs. `results` are those that the call states: where it states
// fewer than the engine binds, the others have to show what was written, and
// have their inputs' types. Everything that the record allows is checked:
// arity, and where the metadata tells them, dtypes and ranks (TRT-02); of
// aliases dtype, shape and device (TRT-03). Errors say field and names.
Expected<std::vector<TypeId>> CheckEngineBindings(
    const Program& program, const EngineRecord& record,
    const std::vector<TypeId>& operands, const std::vector<TypeId>& results,
    const Place& place, Diagnostics& diags);

// A delegate with the record's name and the given boundary, for which
// CheckEngineBindings holds.
Delegate MakeEngineDelegate(const EngineRecord& record,
                            const std::vector<TypeId>& inputs,
                            const std::vector<TypeId>& outputs,
                            Context* context);

// The record of a delegate of backend "tensorrt". A field that is missing or
// wrong is an error that names it.
Expected<EngineRecord> RecordOfDelegate(const Program& program,
                                        const Delegate& delegate,
                                        const Place& place, Diagnostics& diags);

}  // namespace tenon
