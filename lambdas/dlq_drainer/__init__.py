"""Takes messages out of the dead letter queues: archived, indexed, told, and only then deleted."""
