#pragma once

#include <httplib.h>

/// Adds what the contract requires to `server`: paths, methods, limits, and the headers of every response.
void add_routes(httplib::Server& server);
