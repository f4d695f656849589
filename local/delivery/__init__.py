"""A stand-in for Firehose → Iceberg. Local only: on AWS the delivery stream itself does all of this.

It speaks Firehose's protocol with its limits, keeps what it accepted on disk, calls the real transform handler,
appends to the lake, and puts what it cannot deliver under the error prefix. It misbehaves on request.
"""
