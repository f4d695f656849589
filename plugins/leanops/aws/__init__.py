"""boto3 stores behind small classes. Importing one of its modules neither imports boto3 nor opens a connection."""
