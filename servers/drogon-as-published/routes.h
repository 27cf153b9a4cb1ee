#pragma once

// Registers the published handlers with the application.
void register_routes();
