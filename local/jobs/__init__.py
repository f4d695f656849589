"""A stand-in for Glue's job runs and for EMR Serverless. Local only: on AWS the two services do all of this.

It speaks their protocols as boto3 calls them, really runs each job by spark-submit, and misbehaves on request. Glue's
catalog calls are handed on to the emulator, so that AWS_ENDPOINT_URL_GLUE may point here.
"""
