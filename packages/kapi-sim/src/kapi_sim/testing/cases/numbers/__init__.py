"""Cases of numbers: operators, functions, bits, edges, and values made of numbers."""
