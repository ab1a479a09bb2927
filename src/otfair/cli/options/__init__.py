"""What each command is told: its help and its options, which import nothing that takes time."""
