"""Code of one work-item to code of several: divergence, masks, and vector instructions."""
