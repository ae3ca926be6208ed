"""Functions that are written in Python and run as native code, which is shipped with them.

`language` is what they are written in, beside Python.  `compilation` makes machine code of them, for the files that
``tools/native_code.py`` writes.  `loading` gives them as builtins to those who call them.  What is compiled is the
platforms' own, such as `kapi_runtime.sycl.native`.
"""
