"""What every part needs: errors, files, progress, compiled kernels."""
