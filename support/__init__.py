"""What every part needs: errors, files, progress."""
