"""Makes the environments that the project runs in. Standard library only: it runs before anything is installed."""
