"""Problems of a kernel's source: how they are kept, placed and described."""
