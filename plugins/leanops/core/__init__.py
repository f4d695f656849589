"""The rules every part shares. Pure Python: imports neither Airflow nor Spark nor boto3."""
