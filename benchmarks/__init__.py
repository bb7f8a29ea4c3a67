"""Speed, measured as ratios against what a user would do instead, in one run on one machine."""
