"""A deployment on the local AWS, made by boto3 from the names that Terraform uses. Off AWS only."""
