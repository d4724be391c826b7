"""Phase III: match claims with windows, and the models that judge them."""
