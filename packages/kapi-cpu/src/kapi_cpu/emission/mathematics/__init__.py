"""Functions of mathematics as LLVM IR of one number, of which the vectoriser makes code for any number of lanes.

Each is straight code of IEEE additions, multiplications, divisions and selects, so that its results are the same on
every processor: no contraction, no table of the processor's, no call of C's library.
"""
