"""NumPy's functions of rows in the body of a loop: loops before the statement, or elements where they are used."""
