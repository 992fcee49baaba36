"""The shuffler's process: takes seals, keeps them until a crowd is there, and passes them on in an order that says nothing."""
