"""Clean video in, Parquet dataset out."""
