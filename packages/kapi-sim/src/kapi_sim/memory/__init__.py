"""Memory as a simulated kernel sees it: checked views of arrays, atomics, private arrays, who waits for whom."""
