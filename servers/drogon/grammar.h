// The grammar of JSON, for a library that takes what is not JSON.
#pragma once

#include "codec.h"

// Throws BadBatch unless the body is one JSON value, in valid UTF-8 without lone surrogates.
// It may have at most kMaxDepth levels.
void require_well_formed(const Body& body);
