"""Diagnosis of an installation: versions, devices, problems."""
