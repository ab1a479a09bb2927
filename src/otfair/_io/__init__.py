"""What goes in and out: arrays, files, progress and pages."""
