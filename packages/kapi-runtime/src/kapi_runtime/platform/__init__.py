"""What all kinds of devices have alike."""
