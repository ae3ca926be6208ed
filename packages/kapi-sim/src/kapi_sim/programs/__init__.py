"""Programs that are run as they are, with kapi_sim's modules in the places of those that they import."""
