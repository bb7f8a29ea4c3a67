"""Dataset in, table out: test-time adaptation measured on corrupted video."""
