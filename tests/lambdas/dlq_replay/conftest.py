from tests.aws.fixtures import deployment

__all__ = ["deployment"]
