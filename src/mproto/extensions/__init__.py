"""Our additions to the paper besides denoising: initial prototypes, losses, prediction of whole sentences."""
