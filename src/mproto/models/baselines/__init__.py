"""The methods that mproto is compared with, one file each."""
