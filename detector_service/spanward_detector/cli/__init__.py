"""The command line: thin commands around the parts of the detector."""
