"""Passes that targets share."""
