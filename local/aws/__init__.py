"""The local AWS: an emulator process that the project starts and stops itself. Off AWS only."""

from local.aws.emulator import Emulator, EmulatorFailed

__all__ = ["Emulator", "EmulatorFailed"]
