"""HPKE for devices that report through a shuffler, and for those who open what they send. Needs the extra ``sealed``."""
