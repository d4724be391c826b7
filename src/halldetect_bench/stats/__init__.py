"""Figures from predictions: metrics, bootstrap intervals, tables."""
