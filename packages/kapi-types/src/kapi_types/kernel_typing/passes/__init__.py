"""The passes from bytecode to typed IR, in the room of each problem that they find."""
