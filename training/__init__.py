"""Recipes for the models in the package; not part of the package itself."""
