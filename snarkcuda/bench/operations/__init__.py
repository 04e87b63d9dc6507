"""What is measured, one operation a module: `subject(case, pool)` makes data, call and check."""
