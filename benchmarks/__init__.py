"""Speed as ratios: what gitmem costs against what a user would do instead, in one run."""
