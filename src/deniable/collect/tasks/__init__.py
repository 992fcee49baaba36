"""What is asked: task files, their compatibility and their signatures."""
