#pragma once

// Registers the contract's workloads with the application.
void register_routes();
