"""PySpark jobs between RAW and Curated. A job is a function of (spark, topic, batch); only `tables` touches Iceberg."""
