"""What runs in Airflow: the topic DAG and its tasks. Imports Airflow, never Spark."""
