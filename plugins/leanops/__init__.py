"""lean-ops: an Iceberg lakehouse for IoT topics, run by Airflow."""

__version__ = "0.1.0"
