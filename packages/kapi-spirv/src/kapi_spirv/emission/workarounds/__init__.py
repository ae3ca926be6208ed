"""Faults of drivers' compilers, each avoided by a module of its own.

A module hides one pattern, most often by a zero that the compiler cannot know to be one, and says when to remove it.
`test_driver_limits` asks the driver for each fault, and ``nox -s instruction_sets`` prints this table anew.  Intel's
OpenCL CPU runtime 2026.2 on a processor with AVX-512, by what ``CL_CONFIG_CPU_TARGET_ARCH`` says (2026-11-23):

=======================================  ===========  ===========  ===========  ===========  ===========
fault                                    default      corei7       corei7-avx   core-avx2    skx
=======================================  ===========  ===========  ===========  ===========  ===========
maximum of int8 over a group             crash        crash        crash        crash        crash
broadcast of float16 over a group        crash        crash        crash        crash        crash
broadcast of bools over a group          crash        crash        crash        crash        crash
shuffle of bools over a group            not built    not built    not built    not built    not built
loop that swaps variables                crash        crash        crash        crash        crash
order of float sums, 1 or 17 work-items  there        there        there        there        there
order of float sums, 64 work-items       no           no           no           no           no
negated floats at barriers               no           there        there        there        no
branch in an uncounted or counted loop   there        there        there        there        there
uncounted loops in two arms              there        there        there        there        there
uncounted loops in two branches          no           no           no           no           no
sign of a negative                       there        there        there        there        there
complement of a maximum                  there        no           no           no           there
guard by a negative number               there        not asked    not asked    not asked    not asked
guard by a difference                    there        not asked    not asked    not asked    not asked
=======================================  ===========  ===========  ===========  ===========  ===========

Operations over groups on bools, and on float16 and 8-bit integers over work-groups, go through 32 bits in lowering.
The order of float sums has no workaround: docs/decisions/order-of-float-sums.md.

``CL_CONFIG_DUMP_DISASSEMBLY`` shows the code that runs; the text of ``CL_CONFIG_DUMP_ASM`` may differ from it.
"""
