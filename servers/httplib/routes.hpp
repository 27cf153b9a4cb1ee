#pragma once

#include <httplib.h>

/// Adds what the contract asks for to `server`: paths, methods, limits, and the headers of every answer.
void add_routes(httplib::Server& server);
