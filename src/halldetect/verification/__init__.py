"""Phase III: which claims meet which windows, and the models that judge them."""
