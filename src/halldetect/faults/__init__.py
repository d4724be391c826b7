"""What is wrong with a claim, and what proves it: rules about judged claims."""
