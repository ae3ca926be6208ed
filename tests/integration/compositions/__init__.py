"""Every operation of the table with every pair of kinds, into every consumer: both worlds against NumPy."""
