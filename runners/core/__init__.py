"""What every part knows: the records and their names, units, errors, folders, parameters."""
