"""Takes messages from the topics' queues to the delivery stream. What it cannot hand over, it reports as failed."""
