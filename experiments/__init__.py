"""Scripts that regenerate the tables and figures of RESULTS.md; README.md says how to run them."""
