"""The nouns that every part of deniable shares. Standard library only."""
