"""Results for people: tables of experiments, the HTML report, summaries of every artifact."""
