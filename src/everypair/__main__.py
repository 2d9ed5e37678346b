"""``python -m everypair`` is the command ``everypair``."""

from everypair.cli.app import main

if __name__ == "__main__":
    main()
