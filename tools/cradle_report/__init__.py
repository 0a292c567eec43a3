"""Reads logs of Cradle and of PyPy, and says what is in them."""
