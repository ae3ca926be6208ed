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
Without a workaround:

- Float sums over loads in loops of work-items that fill no vector have another order
  (docs/decisions/order-of-float-sums.md).  A vector has 16 work-items, 8 under core-avx2, 4 under corei7.
  ``NdRange(960, 48)``, ``(960, 80)`` and ``(16, 16)`` by ``(4, 16)`` have none such; work-groups of 8, 20, 24, 120,
  ``(8, 8)``, ``(16, 4)``, ``(32, 1)`` some or nearly all.  Of a ``Range`` below 64 that is no multiple of 16, all; of a
  longer one those behind the last multiple of 16.
- A work-item that returns before a barrier or a group algorithm, as failing ones do in debug mode, ends neither the
  launch nor the process.  The rest of the group goes on, and other groups are right.  A work-item that spins on its
  value never ends.
- Products and bitwise operations over groups need SPV_KHR_uniform_group_instructions, which the drivers take but do not
  announce.  Without it they are right, and 600 times slower over work-groups.
- A batch of 600 group algorithms in one kernel ends the process, and 300 run: `compositions` takes 100.
- One kernel with two ``cmath.rect`` of float16 and ``math.sin`` and ``math.cos`` of float32 ends the process in the
  driver's compiler.  Either part alone runs.
- Two threads that call ``clFinish`` on one out-of-order queue: 8 of 10 runs of eight threads with 1,500 waits each
  ended by a segmentation fault; with a marker without events 6 of 10; with a barrier, or its event, none; one thread
  that finishes and three that launch, none of 12.  Hence `kapi_types.usm.queue_waits`.
- Kernels stay in the driver's memory until the process ends: 2,000 random kernels took 3.5 GB, so long tests run in
  several processes.
- A barrier two calls deep lets one vector pass.  Functions with barriers are inlined (`called_barriers`), and so are
  those with ``printf``, whose formats the back end mixes up in functions.

``CL_CONFIG_DUMP_DISASSEMBLY`` shows the code that runs; the text of ``CL_CONFIG_DUMP_ASM`` may differ from it.
"""
