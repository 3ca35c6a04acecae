"""The stand-in decides by itself: flags, a model and a card in; the log, the answers and the end that they lead to out.

The arithmetic is that of `sgdoctor.engines.sglang`; the texts are those of recorded runs with the numbers put in.
"""
