"""The methods that mproto is compared with, one file each; `models/registry.py` lists them."""
