"""Array libraries whose arrays are offloaded: what offload asks of each, and their answers."""
