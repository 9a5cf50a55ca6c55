"""Ways into other libraries, one file and one optional extra each."""
