"""Tallies beyond one machine's memory: files, Spark, Beam, a GPU.

A tally is a commutative monoid over integers, so every engine does one small thing: fold each partition into a tally (``partition``), add
the tallies up. Never a shuffle of reports, never a group-by over cells; whichever engine did it, the bytes are the same.
"""
