"""The memory model of SGLang: what its pools get on a card, what they hold, and what is left."""
