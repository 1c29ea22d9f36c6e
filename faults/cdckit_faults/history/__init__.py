"""What was committed, what has been delivered, and what is wrong between them."""
