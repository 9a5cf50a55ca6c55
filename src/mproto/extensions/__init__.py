"""What this project adds to the paper's training step and prediction, besides denoising."""
