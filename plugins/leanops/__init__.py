"""lean-ops: an Iceberg lakehouse for IoT topics, run by Airflow."""
