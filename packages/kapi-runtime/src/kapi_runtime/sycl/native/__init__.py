"""The launch in native code: arguments compared with a plan, packed, ordered and submitted."""
