"""The state store `s3`: the states of pipelines in an object store that speaks S3."""
