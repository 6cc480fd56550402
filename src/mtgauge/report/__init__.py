"""Results for people: tables for the terminal, papers and spreadsheets."""
