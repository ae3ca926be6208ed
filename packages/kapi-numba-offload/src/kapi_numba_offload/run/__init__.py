"""What a running region or loop needs: placement, memory, launches, reasons and records."""
