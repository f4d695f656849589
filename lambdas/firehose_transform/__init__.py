"""Says for each record of the delivery stream which table it belongs to."""
