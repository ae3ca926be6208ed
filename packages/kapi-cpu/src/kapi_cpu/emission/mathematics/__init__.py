"""Functions of mathematics as LLVM IR of one number, of which the vectoriser makes code for any number of lanes.

Each is straight code of IEEE additions, multiplications, divisions and selects, without a table of the processor's or a
call of C's library. Products and sums are fused where `Writer.product_and_sum` says so, on processors that can: results
are the same on all of these, and on all others.
"""
